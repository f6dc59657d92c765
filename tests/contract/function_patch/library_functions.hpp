/// The functions of an ELF library's file, as its symbols describe them.
#pragma once

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "alloctap/arch/patch_refusal.hpp"
#include "alloctap/elf/mapped_image.hpp"

namespace alloctap_test {

/// Reads where the loader finds `name`; empty if it finds none.
inline std::vector<std::byte> read_library(const char* name) {
  void* handle = dlopen(name, RTLD_LAZY);
  link_map* map = nullptr;
  if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return {};
  std::ifstream file(map->l_name, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// A function; its address is the file's plus some bias.
struct LibraryFunction {
  std::string name;
  alloctap::arch::FunctionCode code;
};

/// Every function of the dynamic symbol table once, by address; the sizes are the symbols'.
inline std::vector<LibraryFunction> functions_of(std::span<const std::byte> file,
                                                 std::uintptr_t bias) {
  const auto at = [&](std::uint64_t offset) { return file.data() + offset; };
  const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(at(0));
  const std::span sections(reinterpret_cast<const ElfW(Shdr)*>(at(header.e_shoff)), header.e_shnum);
  const auto table = std::ranges::find(sections, SHT_DYNSYM, &ElfW(Shdr)::sh_type);
  const std::span symbols(reinterpret_cast<const ElfW(Sym)*>(at(table->sh_offset)),
                          table->sh_size / sizeof(ElfW(Sym)));
  std::vector<LibraryFunction> functions;
  for (const auto& symbol : symbols) {
    const bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
    if (!is_function || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
    for (const auto& segment : alloctap::elf::find_segments(file)) {
      const std::uint64_t offset = symbol.st_value - segment.p_vaddr;
      if (segment.p_type != PT_LOAD || offset >= segment.p_filesz) continue;
      const auto rest = file.subspan(segment.p_offset + offset, segment.p_filesz - offset);
      const auto bytes = rest.first(std::min<std::size_t>(symbol.st_size, rest.size()));
      const char* name =
          reinterpret_cast<const char*>(at(sections[table->sh_link].sh_offset + symbol.st_name));
      functions.push_back({name, {bias + symbol.st_value, bytes, rest.subspan(bytes.size())}});
    }
  }
  const auto address = [](const LibraryFunction& function) { return function.code.address; };
  std::ranges::sort(functions, {}, address);
  const auto repeated = std::ranges::unique(functions, {}, address);
  functions.erase(repeated.begin(), repeated.end());
  return functions;
}

}  // namespace alloctap_test
