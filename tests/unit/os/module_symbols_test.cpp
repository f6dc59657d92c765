#include "alloctap/os/module_symbols.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>

namespace os = alloctap::os;

namespace {

/// A library of the C library's that nothing else here uses.
constexpr const char* kLibrary = "libBrokenLocale.so.1";

/// Where the loader found it.
const char* path_of(void* symbol) {
  Dl_info info{};
  REQUIRE(dladdr(symbol, &info) != 0);
  return info.dli_fname;
}

}  // namespace

TEST_CASE("the default definition is the one that the program's calls reach") {
  CHECK(os::default_symbol("getppid") == dlsym(RTLD_DEFAULT, "getppid"));
  CHECK(os::default_symbol("getppid") != nullptr);
  CHECK(os::default_symbol("no_such_function_anywhere") == nullptr);
}

TEST_CASE("a module sees its own definitions and those of what it needs") {
  const char* const path = path_of(os::default_symbol("getppid"));
  CHECK(os::symbol_seen_by(path, "getppid") == os::default_symbol("getppid"));
  CHECK(os::symbol_seen_by(path, "no_such_function_anywhere") == nullptr);
  CHECK(os::symbol_seen_by("/no/such/library.so", "getppid") == nullptr);
  CHECK(os::symbol_seen_by(nullptr, "getppid") != nullptr);
}

TEST_CASE("the program is told of no error that was not its own") {
  static_cast<void>(dlerror());
  static_cast<void>(os::symbol_seen_by("/no/such/library.so", "getppid"));
  CHECK(dlerror() == nullptr);
  static_cast<void>(os::symbol_seen_by(nullptr, "no_such_function_anywhere"));
  CHECK(dlerror() == nullptr);
}

TEST_CASE("a pinned module stays when it is closed") {
  void* const handle = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return;
  void* const code = dlsym(handle, "__ctype_get_mb_cur_max");
  REQUIRE(code != nullptr);
  CHECK(os::pin_module(code));
  CHECK(dlclose(handle) == 0);
  void* const again = dlopen(kLibrary, RTLD_NOW | RTLD_NOLOAD);
  CHECK(again != nullptr);
}

TEST_CASE("what is in no module cannot be pinned, and the program needs not be") {
  int local = 0;
  CHECK_FALSE(os::pin_module(&local));
  CHECK(os::pin_module(reinterpret_cast<const void*>(&path_of)));
}
