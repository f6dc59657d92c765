#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "alloctap/game/thread_frames.hpp"
#include "tests/unit/game/frames_fixture.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

struct LargeTest;
struct FreeTest;
struct UnknownFreeTest;
struct FailedTest;
struct UsualTest;
struct NoBlockTest;
struct WaitTest;

constexpr std::size_t kLarge = kLargeCallBytes;

/// A call that took so long.
TimedCall begun(AllocatorCall call, std::size_t bytes, std::int64_t ns, std::uint32_t weight = 1) {
  return {.begin_ns = os::monotonic_ns() - ns, .weight = weight, .call = call, .bytes = bytes};
}

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1'000 * kMillisecond;

const WorstFrame& slowest_frame(const Snapshot& snapshot) {
  const auto& list = snapshot.frames.worst[static_cast<std::size_t>(FrameMeasure::kAllocatorTime)];
  REQUIRE(list.size() > 0);
  return list[0];
}

}  // namespace

TEST_CASE("of calls that are not large one in so many is timed, whatever the rhythm") {
  TimedCalls calls{.until_timed = 0, .dice = 1, .gone_bytes = 0};
  TimedCall timed;
  const auto is_timed = [&](AllocatorCall call, std::size_t bytes) {
    if (!calls.takes(call, bytes)) return false;
    calls.begin(call, bytes, timed);
    return true;
  };
  std::uint32_t allocations = 0;
  std::uint32_t frees = 0;
  for (std::uint32_t i = 0; i < 64'000; ++i) {
    allocations += is_timed(AllocatorCall::kAllocate, 32) ? 1 : 0;
    calls.gone_bytes = 64;
    if (!is_timed(AllocatorCall::kFree, 0)) continue;
    ++frees;
    REQUIRE(timed.weight == kTimedOneIn);
    REQUIRE(timed.bytes == 64);
    REQUIRE_FALSE(timed.has_usage);
  }
  CHECK(allocations > 900);
  CHECK(allocations < 1100);
  CHECK(frees > 900);
  CHECK(frees < 1100);
}

TEST_CASE("each large call is timed, and stands for itself") {
  TimedCalls calls{.until_timed = 10, .dice = 1, .gone_bytes = 0};
  TimedCall timed;
  std::size_t bytes = kLarge;
  for (int i = 0; i < 3; ++i) CHECK(calls.takes(AllocatorCall::kReallocate, bytes));
  calls.gone_bytes = kLarge + 1;
  bytes = 0;
  REQUIRE(calls.takes(AllocatorCall::kFree, bytes));
  CHECK(bytes == kLarge + 1);
  calls.begin(AllocatorCall::kFree, bytes, timed);
  CHECK(timed.weight == 1);
  CHECK(timed.begin_ns != 0);
  CHECK(calls.until_timed == 10);
  bytes = 0;
  CHECK_FALSE(calls.takes(AllocatorCall::kFree, bytes));
}

TEST_CASE("the time of a call is its frame's, its tag's and its stack's, and the slowest is told") {
  using G = Game<LargeTest>;
  using F = G::Frames;
  G::allocate(0x1000, 1);
  F::mark();
  const Tag tag{process_tags.find_or_add(kNoTag, "frame_timing_test")};
  {
    const tag_scope scope{tag};
    G::Record::end_timing(begun(AllocatorCall::kAllocate, 100, kSecond, 64));
    G::allocate(0x2000, 100, 0x333);
    G::Record::end_timing(begun(AllocatorCall::kReallocate, kLarge, 3 * kSecond));
    G::allocate(0x80000, kLarge, 0x444);
    G::Record::end_timing(begun(AllocatorCall::kAllocate, 5, kMillisecond));
    G::allocate(0x3000, 5, 0x555);
  }
  F::mark();
  const Snapshot snapshot = G::snapshot();
  const FrameSummary& frame = snapshot.frames.last[0];
  CHECK(frame.counts.allocator_ns > 4 * kSecond);
  CHECK(frame.counts.allocator_ns < 60 * kSecond);
  CHECK(tag_of(snapshot, frame, tag).counts.allocator_ns == frame.counts.allocator_ns);
  const WorstFrame& worst = slowest_frame(snapshot);
  CHECK(worst.counts.allocator_ns == frame.counts.allocator_ns);
  CHECK(worst.slowest.duration_ns >= 3 * kSecond - kMillisecond);
  CHECK(worst.slowest.bytes == kLarge);
  CHECK(worst.slowest.tag == tag.id);
  CHECK(worst.slowest.call == AllocatorCall::kReallocate);
  CHECK(caller_of(snapshot, worst.slowest.stack) == 0x444);
  CHECK(cause_of(worst.slowest) == SlowCause::kSize);
  REQUIRE(worst.stack_count == 3);
  CHECK(caller_of(snapshot, worst.stacks[0].stack) == 0x444);
  CHECK(caller_of(snapshot, worst.stacks[1].stack) == 0x333);
  CHECK(worst.stacks[1].allocator_ns > kSecond / 2);
}

TEST_CASE("the time of a call whose block never came is not another call's") {
  using G = Game<NoBlockTest>;
  G::allocate(0x1000, 1);
  G::Frames::mark();
  G::Record::end_timing(begun(AllocatorCall::kAllocate, kLarge, kSecond));
  const TimedCall* timed = G::Record::begin_timing(AllocatorCall::kAllocate, kLarge);
  REQUIRE(timed != nullptr);
  G::allocate(0x2000, kLarge, 0x333);
  G::Frames::mark();
  CHECK(slowest_frame(G::snapshot()).slowest.duration_ns == 0);
}

TEST_CASE("one timed call stands for others where calls usually take as long") {
  using G = Game<UsualTest>;
  G::allocate(0x1000, 1);
  G::Frames::mark();
  for (int i = 0; i < 60; ++i) G::Record::end_timing(begun(AllocatorCall::kFree, 8, kSecond, 64));
  G::Frames::mark();
  CHECK(G::snapshot().frames.last[0].counts.allocator_ns > 20 * 64 * kSecond);
}

TEST_CASE("the time of a free is that of the stack that allocated the block") {
  using G = Game<FreeTest>;
  G::allocate(0x1000, 100, 0x333);
  G::Frames::mark();
  G::free(0x1000);
  G::Record::end_timing(begun(AllocatorCall::kFree, 100, kMillisecond));
  G::Frames::mark();
  const Snapshot snapshot = G::snapshot();
  const WorstFrame& worst = slowest_frame(snapshot);
  CHECK(worst.slowest.call == AllocatorCall::kFree);
  CHECK(caller_of(snapshot, worst.slowest.stack) == 0x333);
  CHECK(cause_of(worst.slowest) == SlowCause::kUnknown);
}

TEST_CASE("the time of a free of an unknown block is not that of an earlier free's stack") {
  using G = Game<UnknownFreeTest>;
  G::allocate(0x1000, 100, 0x333);
  G::Frames::mark();
  G::free(0x1000);
  const TimedCall* timed = nullptr;
  for (int i = 0; i < 10'000 && timed == nullptr; ++i) {
    timed = G::Record::begin_timing(AllocatorCall::kFree, 0);
  }
  REQUIRE(timed != nullptr);
  G::Record::end_timing(*timed);
  G::Frames::mark();
  const WorstFrame worst = slowest_frame(G::snapshot());
  CHECK(worst.slowest.call == AllocatorCall::kFree);
  CHECK(worst.slowest.stack == kNoStackId);
}

TEST_CASE("a call whose block was not recorded gives its time to no other block's stack") {
  using G = Game<FailedTest>;
  G::Frames::mark();
  G::Record::end_timing(begun(AllocatorCall::kAllocate, 100, kMillisecond));
  G::allocate(0x1000, 99, 0x333);
  G::Frames::mark();
  const Snapshot snapshot = G::snapshot();
  CHECK(slowest_frame(snapshot).slowest.duration_ns == 0);
  CHECK(slowest_frame(snapshot).stacks[0].allocator_ns == 0);
}

TEST_CASE("a large call that waits is told to have waited") {
  using G = Game<WaitTest>;
  G::Frames::mark();
  TimedCalls calls{};
  TimedCall timed;
  calls.begin(AllocatorCall::kAllocate, kLarge, timed);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  G::Frames::end_timing(timed, {});
  G::allocate(0x1000, kLarge);
  G::Frames::mark();
  const SlowCall slowest = slowest_frame(G::snapshot()).slowest;
  CHECK(slowest.duration_ns >= 100 * kMillisecond);
  CHECK(slowest.bytes == kLarge);
  CHECK(cause_of(slowest) == SlowCause::kWait);
}

TEST_CASE("a thread that runs has not waited, wherever the steps of its account lie") {
  for (std::int64_t ms = 1; ms < 100; ++ms)
    CHECK_FALSE(has_waited(ms * kMillisecond, ms / 16 * 16 * kMillisecond));
  CHECK_FALSE(has_waited(15 * kMillisecond, 0));
  CHECK(has_waited(16 * kMillisecond, 0));
  CHECK(has_waited(33 * kMillisecond, 16 * kMillisecond));
}

TEST_CASE("the cause of a slow call is what its numbers can explain") {
  SlowCall call{.duration_ns = 1'000'000, .bytes = 10, .has_usage = true, .waits = 1};
  CHECK(cause_of(call) == SlowCause::kWait);
  call.page_faults = 1999;
  CHECK(cause_of(call) == SlowCause::kWait);
  call.page_faults = 2000;
  CHECK(cause_of(call) == SlowCause::kPageFaults);
  call = {.duration_ns = 1000, .bytes = kLarge, .preemptions = 2};
  CHECK(cause_of(call) == SlowCause::kPreempted);
}
