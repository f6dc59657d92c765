#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "alloctap/os/module_symbols.hpp"

namespace {

using namespace alloctap::os;

std::uintptr_t some_code() { return reinterpret_cast<std::uintptr_t>(&some_code); }
std::uintptr_t library_code() { return reinterpret_cast<std::uintptr_t>(&std::qsort); }

std::uintptr_t loader_says(std::uintptr_t address) {
  Dl_info info;
  REQUIRE(dladdr(reinterpret_cast<void*>(address), &info) != 0);
  return reinterpret_cast<std::uintptr_t>(info.dli_fbase);
}

}  // namespace

TEST_CASE("a module is found by each of its sources") {
  for (const std::uintptr_t address : {some_code(), library_code()}) {
    for (const LoadedModule module : {find_module(address), find_module_in_memory_map(address)}) {
      CHECK(module.start == loader_says(address));
      CHECK(module.end > address);
      CHECK(std::memcmp(reinterpret_cast<void*>(module.start), "\177ELF", 4) == 0);
    }
  }
}

TEST_CASE("the kernel's library is a module") {
  const std::uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
  if (vdso == 0) return;
  for (const LoadedModule module :
       {find_module(vdso + 100), find_vdso(vdso), find_module_in_memory_map(vdso + 100)}) {
    CHECK(module.start == vdso);
    CHECK(module.end > vdso + 100);
    CHECK(module.end < vdso + (1 << 20));
  }
  CHECK(find_vdso(vdso - 1).start == 0);
  CHECK(find_vdso(vdso + (1 << 20)).start == 0);
}

TEST_CASE("memory that no file is in belongs to no module") {
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  // The kernel names the stack and the heap, which are in no file either.
  for (const std::uintptr_t address :
       {std::uintptr_t{0}, reinterpret_cast<std::uintptr_t>(page),
        reinterpret_cast<std::uintptr_t>(&page), reinterpret_cast<std::uintptr_t>(sbrk(0)) - 1,
        UINTPTR_MAX}) {
    CHECK(find_module(address).start == 0);
    CHECK(find_module_in_memory_map(address).start == 0);
  }
  munmap(page, 4096);
}
