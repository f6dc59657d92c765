#include "alloctap/meta/aged_index.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "alloctap/meta/meta_container.hpp"
#include "alloctap/meta/shadow_index.hpp"
#include "alloctap/os/clock.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

constexpr std::int64_t kMillisecond = 1'000'000;
/// By how much readings of the coarse clock are late at most: some steps of it, where a virtual
/// machine's other processor, which counts them, is stopped.
constexpr std::int64_t kStep = 100 * kMillisecond;
constexpr std::int64_t kRest = 2 * kStep;

void rest() { std::this_thread::sleep_for(std::chrono::nanoseconds(kRest)); }

template <class Test>
struct AgedConfig : ScriptedConfig<Test> {
  using Meta = MemoryMetaContainer<AgedIndex<ShadowIndex>>;
};

struct BlocksTest;
struct PlainTest;

}  // namespace

TEST_CASE_TEMPLATE("a block is as old as the time since it came", Index, AgedIndex<ShadowIndex>,
                   AgedIndex<FlatHashIndex>) {
  const auto index = std::make_unique<Index>();
  CHECK(index->insert(at(0x10000), {.stack = 3, .size = 1}).kept);
  rest();
  CHECK(index->insert(at(0x10010), {.stack = 3, .size = 1}).kept);
  const std::int64_t older = index->age_ns(at(0x10000));
  const std::int64_t younger = index->age_ns(at(0x10010));
  CHECK(older >= kRest - kStep);
  CHECK(older - younger >= kRest - kStep);
  CHECK(younger >= 0);
}

TEST_CASE("an address that is handed out again begins anew") {
  const auto index = std::make_unique<AgedIndex<ShadowIndex>>();
  CHECK(index->insert(at(0x10000), {.stack = 3, .size = 1}).kept);
  rest();
  CHECK(index->take(at(0x10000)).stack == 3);
  const std::int64_t again = alloctap::os::monotonic_ns();
  CHECK(index->insert(at(0x10000), {.stack = 4, .size = 1}).kept);
  const std::int64_t age = index->age_ns(at(0x10000));
  CHECK(age <= alloctap::os::monotonic_ns() - again + kStep);
}

TEST_CASE("the age of what has no word for it is not known") {
  const auto index = std::make_unique<AgedIndex<ShadowIndex>>();
  CHECK(index->insert(at(0x10001), {.stack = 3, .size = 1}).kept);
  CHECK(index->age_ns(at(0x10001)) == -1);
  CHECK(index->age_ns(at(0x20000)) == -1);
  CHECK(index->take(at(0x10001)).stack == 3);
}

TEST_CASE("a snapshot tells the ages of live blocks, over an index that knows them") {
  using T = Tracker<AgedConfig<BlocksTest>>;
  const Session session = started<T>();
  T::Hook::on_allocate(at(0x10000), 1);
  rest();
  T::Hook::on_allocate(at(0x20000), 2);
  const auto snapshot = T::snapshot({.blocks = true});
  REQUIRE(snapshot.ok());
  REQUIRE(snapshot->blocks.size() == 2);
  CHECK(snapshot->blocks[0].age_ns - snapshot->blocks[1].age_ns >= kRest - kStep);
  CHECK(snapshot->blocks[1].age_ns >= 0);
}

TEST_CASE("over another index ages are not known") {
  using T = Tracker<ScriptedConfig<PlainTest>>;
  const Session session = started<T>();
  T::Hook::on_allocate(at(0x10000), 1);
  const auto snapshot = T::snapshot({.blocks = true});
  REQUIRE(snapshot.ok());
  REQUIRE(snapshot->blocks.size() == 1);
  CHECK(snapshot->blocks[0].age_ns == -1);
}
