#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "alloctap/os/module_symbols.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace {

namespace os = alloctap::os;

std::uintptr_t some_code() { return reinterpret_cast<std::uintptr_t>(&some_code); }
std::uintptr_t library_code() {
  return reinterpret_cast<std::uintptr_t>(os::default_symbol("RtlAllocateHeap"));
}

std::uintptr_t loader_says(std::uintptr_t address) {
  HMODULE module = nullptr;
  REQUIRE(::GetModuleHandleExW(
              GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
              reinterpret_cast<const wchar_t*>(address), &module) != 0);
  return reinterpret_cast<std::uintptr_t>(module);
}

}  // namespace

TEST_CASE("a module of Windows is found by an address in it") {
  for (const std::uintptr_t address : {some_code(), library_code()}) {
    const os::LoadedModule module = os::find_module(address);
    CHECK(module.start == loader_says(address));
    CHECK(module.end > address);
    CHECK(module.unwind_tables > module.start);
    CHECK(module.unwind_tables < module.end);
    CHECK(std::memcmp(reinterpret_cast<void*>(module.start), "MZ", 2) == 0);
  }
  int local = 0;
  CHECK(os::find_module(reinterpret_cast<std::uintptr_t>(&local)).start == 0);
  CHECK(os::find_module(0).start == 0);
  CHECK(os::find_module(UINTPTR_MAX).start == 0);
}

TEST_CASE("a function that a library exports is known at its first byte alone") {
  const auto symbol = os::find_function_symbol(reinterpret_cast<const void*>(library_code()));
  REQUIRE(symbol.name != nullptr);
  CHECK(std::string(symbol.name) == "RtlAllocateHeap");
  CHECK(os::find_function_symbol(reinterpret_cast<const void*>(library_code() + 1)).name ==
        nullptr);
  CHECK(os::find_function_symbol(&symbol).name == nullptr);
  CHECK(os::find_function_symbol(nullptr).name == nullptr);
}

TEST_CASE("symbols are found in the module that is asked") {
  const HMODULE library = ::GetModuleHandleW(L"ntdll.dll");
  auto* const expected = reinterpret_cast<void*>(::GetProcAddress(library, "RtlFreeHeap"));
  REQUIRE(expected != nullptr);
  CHECK(os::default_symbol("RtlFreeHeap") == expected);
  CHECK(os::symbol_seen_by("ntdll.dll", "RtlFreeHeap") == expected);
  CHECK(os::symbol_seen_by("ntdll.dll", "no_such_function_anywhere") == nullptr);
  CHECK(os::symbol_seen_by("no_such_library.dll", "RtlFreeHeap") == nullptr);
  CHECK(os::default_symbol("no_such_function_anywhere") == nullptr);
}

TEST_CASE("a pinned module of Windows stays when it is closed") {
  const HMODULE library = ::LoadLibraryW(L"version.dll");
  REQUIRE(library != nullptr);
  CHECK(os::pin_module(reinterpret_cast<void*>(::GetProcAddress(library, "VerQueryValueW"))));
  ::FreeLibrary(library);
  CHECK(::GetModuleHandleW(L"version.dll") == library);
  int local = 0;
  CHECK_FALSE(os::pin_module(&local));
}

TEST_CASE("what GetLastError says survives what happens in between") {
  ::SetLastError(ERROR_DISK_FULL);
  {
    const os::ErrnoGuard preserve;
    ::SetLastError(ERROR_ACCESS_DENIED);
  }
  CHECK(::GetLastError() == ERROR_DISK_FULL);
}

TEST_CASE("a program without suppressions has none") {
  CHECK(os::default_suppressions() == nullptr);
}

TEST_CASE("the module table of a Windows process has what the loader has") {
  const alloctap::ModuleTable table = alloctap::ModuleTable::read();
  CHECK(table.reading() == alloctap::ModuleReading::kComplete);
  for (const std::uintptr_t address : {some_code(), library_code()}) {
    const alloctap::Module* module = table.find(address);
    REQUIRE(module != nullptr);
    CHECK(module->start == loader_says(address));
    CHECK(module->bias == module->start);
    CHECK(module->build_id_bytes == 8);
    CHECK(table.find(module->end - 1) == module);
  }
  CHECK(table.find(some_code())->path.ends_with("/alloctap_unit_tests.exe"));
  CHECK(table.find(library_code())->path.ends_with("/ntdll.dll"));
  CHECK(table.loaded().size() >= 4);
}
