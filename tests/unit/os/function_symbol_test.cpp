#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstddef>
#include <string>

#include "alloctap/os/module_symbols.hpp"

TEST_CASE("an exported function is known by name and length, at its first byte alone") {
  const void* const function = dlsym(dlopen("libc.so.6", RTLD_LAZY), "posix_memalign");
  REQUIRE(function != nullptr);
  const auto symbol = alloctap::os::find_function_symbol(function);
  REQUIRE(symbol.name != nullptr);
  CHECK(std::string(symbol.name).find("posix_memalign") != std::string::npos);
  CHECK(symbol.bytes > 5);
  const auto inside =
      alloctap::os::find_function_symbol(static_cast<const std::byte*>(function) + 1);
  CHECK(inside.name == nullptr);
  CHECK(inside.bytes == 0);
}

TEST_CASE("what is no module's has no symbol") {
  int local = 0;
  CHECK(alloctap::os::find_function_symbol(&local).name == nullptr);
  CHECK(alloctap::os::find_function_symbol(nullptr).name == nullptr);
}
