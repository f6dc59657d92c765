#include "alloctap/symbol/absl_symbolizer.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

#include "alloctap/macros.hpp"

namespace known {

template <class T>
struct Place {
  ALLOCTAP_NOINLINE static std::uintptr_t here() {
    return reinterpret_cast<std::uintptr_t>(ALLOCTAP_RETURN_ADDRESS());
  }
};

ALLOCTAP_NOINLINE std::uintptr_t address_in_known_function();
std::uintptr_t address_in_known_function() {
  const std::uintptr_t address = Place<int>::here();
  __asm__ volatile("" ::: "memory");
  return address;
}

/// As Rust's compiler names it.
ALLOCTAP_NOINLINE std::uintptr_t address_in_function_of_rust() __asm__("_RNvC5names4main");
std::uintptr_t address_in_function_of_rust() {
  const std::uintptr_t address = Place<char>::here();
  __asm__ volatile("" ::: "memory");
  return address;
}
ALLOCTAP_NOINLINE std::uintptr_t address_in_older_function_of_rust() __asm__(
    "_ZN34_$LT$names..Store$u20$as$u20$T$GT$4grow17h0123456789abcdefE");
std::uintptr_t address_in_older_function_of_rust() {
  const std::uintptr_t address = Place<long>::here();
  __asm__ volatile("" ::: "memory");
  return address;
}

}  // namespace known

namespace {

using alloctap::AbslSymbolizer;

}  // namespace

TEST_CASE("a function of the program has the name that its author gave it") {
  std::array<char, 256> buffer{};
  const std::uintptr_t address = known::address_in_known_function();
  const std::string_view name = AbslSymbolizer::name_of(address, buffer);
  CHECK(name == "known::address_in_known_function()");
  CHECK(name.data() == buffer.data());
}

TEST_CASE("a function of Rust has the name that its author gave it") {
  std::array<char, 256> buffer{};
  CHECK(AbslSymbolizer::name_of(known::address_in_function_of_rust(), buffer) == "names::main");
  CHECK(AbslSymbolizer::name_of(known::address_in_older_function_of_rust(), buffer) ==
        "<names::Store as T>::grow");
}

TEST_CASE("a function of a library has a name") {
  std::array<char, 256> buffer{};
  const auto address = reinterpret_cast<std::uintptr_t>(&std::snprintf);
  CHECK(AbslSymbolizer::name_of(address, buffer).find("snprintf") != std::string_view::npos);
}

TEST_CASE("a name that is longer than the room is cut inside of it") {
  std::array<char, 24> buffer;
  buffer.fill('#');
  const std::string_view name =
      AbslSymbolizer::name_of(known::address_in_known_function(), {buffer.data(), 16});
  CHECK(name.size() == 16);
  CHECK(name.starts_with("known::"));
  for (std::size_t i = 16; i < buffer.size(); ++i) CHECK(buffer[i] == '#');
}

TEST_CASE("what is no function has no name") {
  std::array<char, 256> buffer{"the name of another"};
  const int on_the_stack = 0;
  CHECK(AbslSymbolizer::name_of(0, buffer).empty());
  CHECK(AbslSymbolizer::name_of(UINTPTR_MAX, buffer).empty());
  CHECK(AbslSymbolizer::name_of(reinterpret_cast<std::uintptr_t>(&on_the_stack), buffer).empty());
}

TEST_CASE("what was unloaded is not asked for: another module may be in its place") {
  alloctap::Module module;
  module.unloaded_before = 1;
  const std::uintptr_t address = known::address_in_known_function();
  const std::array<alloctap::CodeAddress, 2> places{{{address, &module}, {address, nullptr}}};
  alloctap::Symbols symbols;
  REQUIRE(symbols.expect(2));
  AbslSymbolizer::symbolize(places, symbols);
  CHECK(symbols.of(0).empty());
  REQUIRE(symbols.of(1).size() == 1);
  CHECK(symbols.of(1)[0].function == "known::address_in_known_function()");
}
