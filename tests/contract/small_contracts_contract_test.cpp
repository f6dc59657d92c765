// The concepts whose promises fit in a few lines: hooks that need no patching, symbolizers.
#include <doctest/doctest.h>

#include <array>
#include <set>
#include <string>

#include "alloctap/hook/hook_claims.hpp"
#include "alloctap/hook/manual_hook.hpp"
#include "alloctap/symbol/absl_symbolizer.hpp"
#include "alloctap/symbol/no_symbolizer.hpp"
#include "alloctap/testing/fake_sink.hpp"
#include "alloctap/testing/fake_symbolizer.hpp"

namespace {

struct ContractDomain;
using Hook = alloctap::ManualHook<ContractDomain>;
using Sink = alloctap::testing::FakeSink<ContractDomain>;

}  // namespace

TEST_CASE_TEMPLATE("a hook feeds its sink from install to uninstall, and can be installed again",
                   Backend, Hook) {
  int block = 0;
  for (int round = 0; round < 2; ++round) {
    Sink::clear();
    Backend::on_allocate(&block, sizeof block);
    CHECK(Sink::count() == 0);
    REQUIRE(Backend::template install<Sink>().ok());
    Backend::on_allocate(&block, sizeof block);
    CHECK(Sink::count() == 1);
    CHECK_FALSE(Backend::template install<Sink>().ok());
    Backend::uninstall();
    Backend::on_allocate(&block, sizeof block);
    CHECK(Sink::count() == 1);
  }
}

TEST_CASE_TEMPLATE("no symbolizer names an address where nothing is, or writes beyond its buffer",
                   Symbolizer, alloctap::NoSymbolizer, alloctap::AbslSymbolizer,
                   alloctap::testing::FakeSymbolizer) {
  alloctap::testing::FakeSymbolizer::know({});
  std::array<char, 64> buffer;
  buffer.fill('#');
  CHECK(Symbolizer::name_of(1, {buffer.data(), 32}).empty());
  CHECK(Symbolizer::name_of(~std::uintptr_t{0}, {buffer.data(), 32}).empty());
  const auto address = reinterpret_cast<std::uintptr_t>(&std::terminate);
  const std::string_view name = Symbolizer::name_of(address, {buffer.data(), 8});
  CHECK(name.size() <= 8);
  for (std::size_t i = 32; i < buffer.size(); ++i) CHECK(buffer[i] == '#');
}
