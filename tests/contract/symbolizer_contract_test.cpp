// Whoever names functions says nothing of what is nowhere, and answers each place for itself.
#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/symbolizer.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/known_function.hpp"

namespace {

using alloctap::CodeAddress;
using alloctap::Module;
using alloctap::ModuleTable;
using alloctap::NoSymbolizer;
using alloctap::SymbolizerArchetype;
using alloctap::Symbols;
using alloctap::testing::FakeSymbolizer;
using alloctap::testing::KnownFunction;

/// Tells the fake as much as the others know.
void make_known(const KnownFunction& function) {
  FakeSymbolizer::know(std::array{FakeSymbolizer::Function{function.address, function.address + 1,
                                                           function.name, "known.cpp", 5}});
}

}  // namespace

#define ALLOCTAP_TEST_SYMBOLIZERS \
  NoSymbolizer, ALLOCTAP_TEST_NAMING_SYMBOLIZERS, FakeSymbolizer, SymbolizerArchetype

TEST_CASE_TEMPLATE("no symbolizer names an address where nothing is", Symbolizer,
                   ALLOCTAP_TEST_SYMBOLIZERS) {
  FakeSymbolizer::know({});
  Module nowhere;
  nowhere.start = 0x1000;
  nowhere.end = 0x2000;
  nowhere.path = "/nowhere/at/all.so";
  const std::array<CodeAddress, 4> places{
      {{0, nullptr}, {1, nullptr}, {0x1800, &nowhere}, {~std::uintptr_t{0}, nullptr}}};
  Symbols symbols;
  REQUIRE(symbols.expect(places.size()));
  Symbolizer::symbolize(places, symbols);
  for (std::size_t i = 0; i < places.size(); ++i) CHECK(symbols.of(i).empty());
}

TEST_CASE_TEMPLATE("no symbolizer minds to be asked for nothing", Symbolizer,
                   ALLOCTAP_TEST_SYMBOLIZERS) {
  Symbols symbols;
  Symbolizer::symbolize({}, symbols);
  CHECK(symbols.size() == 0);
}

TEST_CASE_TEMPLATE("a symbolizer answers the same for one place among many as for it alone",
                   Symbolizer, ALLOCTAP_TEST_SYMBOLIZERS) {
  const KnownFunction known;
  make_known(known);
  const ModuleTable modules = ModuleTable::read();
  const CodeAddress place{known.address, modules.find(known.address)};
  const std::vector<CodeAddress> many{{1, nullptr}, place, place, {~std::uintptr_t{0}, nullptr}};
  Symbols of_many;
  Symbols of_one;
  REQUIRE(of_many.expect(many.size()));
  REQUIRE(of_one.expect(1));
  Symbolizer::symbolize(many, of_many);
  Symbolizer::symbolize({&place, 1}, of_one);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    REQUIRE(of_many.of(i).size() == of_one.of(0).size());
    if (of_one.of(0).empty()) continue;
    CHECK(of_many.of(i)[0].function == of_one.of(0)[0].function);
    CHECK(of_many.of(i)[0].line == of_one.of(0)[0].line);
  }
  CHECK(of_many.of(0).empty());
  CHECK(of_many.of(3).empty());
}

TEST_CASE_TEMPLATE("a symbolizer that names functions names one of a library", Symbolizer,
                   ALLOCTAP_TEST_NAMING_SYMBOLIZERS, FakeSymbolizer) {
  const KnownFunction known;
  make_known(known);
  const ModuleTable modules = ModuleTable::read();
  const CodeAddress place{known.address, modules.find(known.address)};
  Symbols symbols;
  REQUIRE(symbols.expect(1));
  Symbolizer::symbolize({&place, 1}, symbols);
  REQUIRE(symbols.of(0).size() == 1);
  CHECK(symbols.of(0)[0].function.starts_with(known.name));
}
