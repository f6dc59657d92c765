// The concepts whose promises fit in a few lines: hooks that need no patching.
#include <doctest/doctest.h>

#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/hook/manual_hook.hpp"
#include "tests/support/fakes.hpp"

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
