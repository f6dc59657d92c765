#include "alloctap/record/sampled_heap.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <thread>

#include "alloctap/record/recorder.hpp"
#include "alloctap/sample/poisson_by_bytes.hpp"
#include "tests/unit/record/recorder_fixture.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

/// No call is the tracker's own.
template <class Test, std::uint64_t mean>
struct SkippingConfig : RecorderConfig<Test> {
  using Sampling = PoissonByBytes<mean>;
  static constexpr ConfigFeatures features{.is_internal_call = true,
                                           .may_have_internal_calls = true};
  static bool may_have_internal_calls() noexcept { return own_calls; }
  static inline bool own_calls = false;
};

constexpr std::uint64_t kHardlyEver = std::uint64_t{1} << 62;
constexpr std::uint64_t kAlmostAlways = 2;

using CountdownConfig = SkippingConfig<struct CountdownTest, 4096>;
using SkippedConfig = SkippingConfig<struct SkippedTest, kHardlyEver>;
using SkippedReallocationConfig = SkippingConfig<struct SkippedReallocationTest, kHardlyEver>;
using LastSampleConfig = SkippingConfig<struct LastSampleTest, kAlmostAlways>;

/// Whether an allocation that comes now is skipped. It counts then.
template <class P>
bool skips_now() {
  return P::Record::try_skip(at(0x5000), [] { return std::size_t{10}; });
}

template <class P>
void begin_to_sample() {
  ScriptedStack::play(kStack);
  P::Record::begin_session();
}

}  // namespace

TEST_CASE("what passes by the countdown and what does not add up") {
  using P = Program<CountdownConfig>;
  begin_to_sample<P>();
  std::uint64_t bytes = 0;
  for (std::uintptr_t i = 1; i <= 10'000; ++i) {
    const std::size_t size = i % 7 == 0 ? 0 : i % 1000;
    bytes += size;
    P::allocate(16 * i, size);
    if (i % 2 == 0) P::free(16 * i);
  }
  const Totals totals = P::snapshot().totals;
  CHECK(totals.allocations == 10'000);
  CHECK(totals.allocated_bytes == bytes);
  CHECK(totals.deallocations == 5'000);
  CHECK(totals.temporary_allocations == 5'000);
  CHECK(totals.live_allocations > 0);
  for (std::uintptr_t i = 1; i <= 10'000; i += 2) P::free(16 * i);
  CHECK(P::snapshot().totals.live_allocations == 0);
  CHECK(P::snapshot().totals.live_bytes == 0);
}

TEST_CASE("a thread skips calls behind its first one, in one session, and not in a pause") {
  using P = Program<SkippedConfig>;
  CHECK_FALSE(skips_now<P>());
  begin_to_sample<P>();
  CHECK_FALSE(skips_now<P>());
  P::free(0x1000);
  P::allocate(0x1000, 10);
  CHECK(skips_now<P>());
  std::thread([] { CHECK_FALSE(skips_now<P>()); }).join();
  P::Record::mode().pause();
  CHECK_FALSE(skips_now<P>());
  CHECK_FALSE(P::Record::try_skip_free(at(0x1000)));
  P::Record::mode().resume();
  CHECK(skips_now<P>());
  CHECK(P::Record::try_skip_free(at(0x1000)));
  CHECK(P::snapshot().totals.allocations == 3);
  CHECK(P::snapshot().totals.deallocations == 2);

  P::Record::end_session();
  CHECK_FALSE(skips_now<P>());
  P::allocate(0x1000, 10);
  CHECK_FALSE(skips_now<P>());
  begin_to_sample<P>();
  CHECK_FALSE(skips_now<P>());
  SkippedConfig::own_calls = true;
  P::allocate(0x1000, 10);
  CHECK_FALSE(skips_now<P>());
  SkippedConfig::own_calls = false;
  P::allocate(0x1000, 10);
  CHECK(skips_now<P>());
}

TEST_CASE("reallocations of blocks that were skipped count as ever") {
  using P = Program<SkippedReallocationConfig>;
  begin_to_sample<P>();
  P::allocate(0x1000, 10);
  P::allocate(0x2000, 20);
  REQUIRE(skips_now<P>());
  P::reallocate(0x1000, 0x3000, 30);
  P::reallocate(0x3000, 0x4000, 40);
  P::Record::cancel_reallocate(P::begin_reallocate(0x4000));
  const Totals totals = P::snapshot().totals;
  CHECK(totals.allocations == 5);
  CHECK(totals.allocated_bytes == 110);
  CHECK(totals.deallocations == 2);
  CHECK(totals.temporary_allocations == 1);
}

TEST_CASE("the sample that a thread allocated last is taken out when it is freed at once") {
  using P = Program<LastSampleConfig>;
  begin_to_sample<P>();
  P::allocate(0x1000, 1000);
  P::allocate(0x2000, 1000);
  P::free(0x2000);
  P::free(0x1000);
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.totals.live_bytes == 0);
  CHECK(snapshot.totals.deallocations == 2);
  CHECK(snapshot.totals.temporary_allocations == 1);
  REQUIRE(snapshot.stacks.size() == 1);
  CHECK(snapshot.stacks[0].total.allocations == 2);
  CHECK(snapshot.stacks[0].total.temporary_allocations == 1);
}
