#include "alloctap/symbol/module_table.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "alloctap/os/file.hpp"
#include "tests/support/address_of.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/no_descriptors.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

namespace os = alloctap::os;
using alloctap::Module;
using alloctap::ModuleReading;
using alloctap::ModuleTable;
using alloctap::testing::address_of;
using alloctap::testing::TemporaryDirectory;

std::uintptr_t address_of_libc_function() { return address_of(dlsym(RTLD_DEFAULT, "getpid")); }

void function_of_this_program() {}

std::string hex_of(const Module& module) {
  std::string text;
  for (std::size_t i = 0; i < module.build_id_bytes; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(module.build_id[i]));
    text += digits;
  }
  return text;
}

/// What the binary utilities say of a file.
std::string build_id_by_readelf(const std::string& path) {
  const std::string command = "readelf -n '" + path + "'";
  std::FILE* output = popen(command.c_str(), "r");
  REQUIRE(output != nullptr);
  std::string text;
  for (int character; (character = std::fgetc(output)) != EOF;)
    text += static_cast<char>(character);
  pclose(output);
  const std::string label = "Build ID: ";
  const std::size_t start = text.find(label);
  if (start == text.npos) return {};
  return text.substr(start + label.size(), text.find('\n', start) - start - label.size());
}

/// A file, mapped from its start.
struct MappedFile {
  MappedFile(const std::string& path, std::size_t length, int protection) : bytes(length) {
    int error = 0;
    const os::File file = os::open_for_reading(path.c_str(), error);
    start = mmap(nullptr, bytes, protection, MAP_PRIVATE, file.descriptor(), 0);
    REQUIRE(start != MAP_FAILED);
  }
  ~MappedFile() { munmap(start, bytes); }

  void* start;
  std::size_t bytes;
};

const Module* find_path(const ModuleTable& table, const std::string& path) {
  for (const Module& module : table.modules()) {
    if (module.path == path) return &module;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("the main executable is a module, and knows what it was built from") {
  const ModuleTable table = ModuleTable::read();
  const Module* module = table.find(address_of(reinterpret_cast<void*>(&function_of_this_program)));
  REQUIRE(module != nullptr);
  CHECK(module->path == std::filesystem::read_symlink("/proc/self/exe").string());
  CHECK(hex_of(*module) == build_id_by_readelf(std::string(module->path)));
}

TEST_CASE("the C library is a module, and knows what it was built from") {
  const ModuleTable table = ModuleTable::read();
  const Module* module = table.find(address_of_libc_function());
  REQUIRE(module != nullptr);
  CHECK(module->path.find("libc.so") != module->path.npos);
  REQUIRE_FALSE(hex_of(*module).empty());
  CHECK(hex_of(*module) == build_id_by_readelf(std::string(module->path)));
}

TEST_CASE("what the kernel maps into every process is a module") {
  const std::uintptr_t start = getauxval(AT_SYSINFO_EHDR);
  const ModuleTable table = ModuleTable::read();
  const Module* module = table.find(start + 100);
  REQUIRE(module != nullptr);
  CHECK(module->path == "[vdso]");
  CHECK(module->start == start);
  CHECK(module->build_id_bytes > 0);
}

TEST_CASE("every module that the loader knows is there, with the loader's bias") {
  const ModuleTable table = ModuleTable::read();
  struct Visit {
    const ModuleTable& table;
    int modules = 0;
  } visit{table};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* argument) {
        auto& [known, modules] = *static_cast<Visit*>(argument);
        for (std::size_t i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          const std::uintptr_t start = info->dlpi_addr + segment.p_vaddr;
          const Module* module = known.find(start);
          CAPTURE(info->dlpi_name);
          REQUIRE(module != nullptr);
          CHECK(module->bias == info->dlpi_addr);
          CHECK(known.find(start + segment.p_memsz - 1) == module);
        }
        ++modules;
        return 0;
      },
      &visit);
  CHECK(visit.modules >= 3);
  CHECK(table.modules().size() == static_cast<std::size_t>(visit.modules));
}

TEST_CASE("modules ascend, and the table knows the place of each") {
  const ModuleTable table = ModuleTable::read();
  std::uintptr_t last_end = 0;
  for (const Module& module : table.modules()) {
    CHECK(module.start >= last_end);
    last_end = module.end;
    CHECK(&table.modules()[table.index_of(module)] == &module);
    CHECK(table.find(module.start) == &module);
    CHECK(table.find(module.end - 1) == &module);
    CHECK(table.find(module.end) != &module);
    CHECK(table.find(module.start - 1) != &module);
  }
}

TEST_CASE("an address outside of all modules belongs to none") {
  const ModuleTable table = ModuleTable::read();
  const int on_the_stack = 0;
  CHECK(table.find(0) == nullptr);
  CHECK(table.find(UINTPTR_MAX) == nullptr);
  CHECK(table.find(address_of(&on_the_stack)) == nullptr);
  CHECK(ModuleTable().find(address_of_libc_function()) == nullptr);
}

TEST_CASE("an ELF file that is mapped as data is no module") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("data.so");
  const std::string libc(ModuleTable::read().find(address_of_libc_function())->path);
  std::filesystem::copy_file(libc, path);
  const MappedFile data(path, std::filesystem::file_size(path), PROT_READ);
  const ModuleTable table = ModuleTable::read();
  CHECK(table.find(address_of(data.start)) == nullptr);
  CHECK(find_path(table, path) == nullptr);
  CHECK(find_path(table, libc) != nullptr);
}

TEST_CASE("a file that is mapped with code is a module, under any name") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("odd name\twith \"quotes\".so");
  std::filesystem::copy_file("/proc/self/exe", path);
  const MappedFile code(path, 4096, PROT_READ | PROT_EXEC);
  const ModuleTable table = ModuleTable::read();
  const Module* module = table.find(address_of(code.start));
  REQUIRE(module != nullptr);
  CHECK(module->path == path);
}

TEST_CASE("a mapped file that was cut off since is passed by") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("gone");
  std::filesystem::copy_file("/proc/self/exe", path);
  const MappedFile gone(path, 8192, PROT_READ | PROT_EXEC);
  std::filesystem::resize_file(path, 0);
  CHECK(ModuleTable::read().find(address_of(gone.start)) == nullptr);
}

TEST_CASE("a table says whether it is all there is") {
  CHECK(ModuleTable::read().reading() == ModuleReading::kComplete);
  auto without_descriptors = ModuleReading::kComplete;
  {
    const alloctap::testing::NoDescriptors none;
    without_descriptors = ModuleTable::read().reading();
  }
  CHECK(without_descriptors == ModuleReading::kUnreadable);
  auto without_memory = ModuleReading::kComplete;
  {
    const alloctap::testing::StarvedArena starved;
    without_memory = ModuleTable::read().reading();
  }
  CHECK(without_memory == ModuleReading::kNoMemory);
}
