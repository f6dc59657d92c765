#include "alloctap/record/recorder.hpp"

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <thread>
#include <vector>

#include "tests/support/exhausted_arena.hpp"
#include "tests/unit/record/recorder_fixture.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

struct CaptureTest;
struct OwnCallTest;
struct SamplingTest;
struct RangeTest;
struct FramesTest;
struct MappingTest;
struct NoMappingsTest;
struct StarvedTest;
struct OwnAmongOthersTest;
struct UnknownStackTest;
struct NoTotalsTest;

}  // namespace

TEST_CASE("an allocation is recorded under the stack that was captured for it") {
  using P = Program<RecorderConfig<CaptureTest>>;
  ScriptedStack::play(kStack);
  P::allocate(0x1000, 64);
  const Snapshot snapshot = P::snapshot();
  REQUIRE(snapshot.stacks.size() == 1);
  const auto frames = snapshot.table->frames(snapshot.stacks[0].stack);
  CHECK(std::vector(frames.begin(), frames.end()) == std::vector(kStack.begin(), kStack.end()));
  CHECK(snapshot.stacks[0].live_bytes == 64);
}

TEST_CASE("a call that is not the program's is passed by") {
  using P = Program<RecorderConfig<OwnCallTest>>;
  const CallOrigin own{.caller = at(kOwnCaller)};
  P::Record::on_allocate({.pointer = at(0x1000), .size = 10, .origin = own});
  P::Record::on_deallocate({.pointer = at(0x2000), .origin = own});
  CHECK_FALSE(P::Record::begin_reallocate({.pointer = at(0x3000), .origin = own}).known);
  P::Record::on_map({.address = at(0x10000), .length = 4096, .origin = own});
  DetachedMappings none =
      P::Record::begin_unmap({.address = at(0x10000), .length = 4096, .origin = own});
  CHECK(none.first == nullptr);
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.account.events == 0);
  CHECK(P::Record::threads().counters().dropped == 0);
  // A thread that counts makes the peak of all others less exact.
  std::size_t threads = 0;
  P::Record::threads().for_each([&](const ThreadStats&, const ThreadState&) { ++threads; });
  CHECK(threads == 0);
}

TEST_CASE_TEMPLATE("among the program's calls, those of the tracker itself leave no trace", Config,
                   RecorderConfig<OwnAmongOthersTest>, RangeConfig<OwnAmongOthersTest>) {
  using P = Program<Config>;
  const CallOrigin own{.caller = at(kOwnCaller)};
  ScriptedStack::play(kStack);
  P::Record::begin_session();
  P::allocate(0x1000, 10);
  P::Record::on_allocate({.pointer = at(0x2000), .size = 20, .origin = own});
  P::Record::on_deallocate({.pointer = at(0x2000), .origin = own});
  P::free(0x3000);
  P::Record::mode().pause();
  P::Record::on_allocate({.pointer = at(0x4000), .size = 40, .origin = own});
  P::Record::mode().resume();
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.totals.allocations == 1);
  CHECK(snapshot.totals.live_bytes == 10);
  CHECK(snapshot.account.unmatched_frees == 1);
  CHECK(snapshot.account.unseen_frees == 0);
}

TEST_CASE("an allocation that is not sampled is counted, and not recorded") {
  using P = Program<SampledConfig<SamplingTest>>;
  ScriptedStack::play(kStack);
  P::Record::begin_session();
  for (std::uintptr_t size = 1; size <= 10; ++size) P::allocate(0x1000 * size, size);
  const Totals totals = P::snapshot().totals;
  CHECK(totals.allocations == 10);
  CHECK(totals.live_allocations == 5);
  CHECK(totals.live_bytes == 2 + 4 + 6 + 8 + 10);
}

TEST_CASE("blocks whose size is outside the range have one stack in common, without frames") {
  using P = Program<RangeConfig<RangeTest>>;
  ScriptedStack::play(kStack);
  P::Record::begin_session();
  for (std::uintptr_t size = 1; size <= 10; ++size) P::allocate(0x1000 * size, size);
  P::free(0x1000);
  const Snapshot snapshot = P::snapshot();
  REQUIRE(snapshot.stacks.size() == 2);
  CHECK(snapshot.stacks[0].stack == kStackNotTaken);
  CHECK(snapshot.table->frames(kStackNotTaken).empty());
  CHECK(snapshot.stacks[0].total.allocations == 6);
  CHECK(snapshot.stacks[0].live_bytes == 2 + 3 + 8 + 9 + 10);
  CHECK(snapshot.stacks[1].total.allocations == 4);
  CHECK(snapshot.stacks[1].live_bytes == 4 + 5 + 6 + 7);
  CHECK(snapshot.account.unmatched_frees == 0);
}

TEST_CASE("frames are captured up to the limit, and walks that fail are counted") {
  using P = Program<RecorderConfig<FramesTest>>;
  const std::vector<std::uintptr_t> deep{1, 2, 3, 4, 5, 6};
  ScriptedStack::play(deep);
  CHECK(P::Record::max_frames() == 4);
  P::allocate(0x1000, 1);
  CHECK(P::Record::threads().counters().truncated_stacks == 1);
  P::Record::set_max_frames(2);
  P::allocate(0x2000, 1);
  P::Record::set_max_frames(0);
  CHECK(P::Record::max_frames() == 1);
  P::allocate(0x3000, 1);
  P::Record::set_max_frames(1000);
  CHECK(P::Record::max_frames() == 4);
  ScriptedStack::play(kStack, true);
  P::allocate(0x4000, 1);
  ScriptedStack::play({}, true);
  P::allocate(0x5000, 1);
  CHECK(P::Record::threads().counters().truncated_stacks == 3);
  CHECK(P::Record::threads().counters().failed_unwinds == 2);

  const Snapshot snapshot = P::snapshot();
  std::vector<std::size_t> depths;
  for (const StackSummary& stack : snapshot.stacks) {
    depths.push_back(snapshot.table->frames(stack.stack).size());
  }
  CHECK(depths == std::vector<std::size_t>{0, 4, 2, 1, 2});
}

TEST_CASE("mappings are recorded, taken out and put back") {
  using P = Program<RecorderConfig<MappingTest>>;
  ScriptedStack::play(kStack);
  const MappingEvent all{.address = at(0x10000), .length = 0x4000, .origin = {}};
  const MappingEvent part{.address = at(0x11000), .length = 0x1000, .origin = {}};
  P::Record::on_map(all);
  DetachedMappings detached = P::Record::begin_unmap(part);
  CHECK(detached.first != nullptr);
  CHECK(P::snapshot().mapping_totals.live_bytes == 0x3000);
  P::Record::cancel_unmap(detached);
  CHECK(P::snapshot().mapping_totals.live_bytes == 0x4000);
  detached = P::Record::begin_unmap(part);
  P::Record::finish_unmap(detached);
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.mapping_totals.live_bytes == 0x3000);
  CHECK(snapshot.mapping_totals.unmappings == 1);
  REQUIRE(snapshot.mappings.size() == 1);
  CHECK(snapshot.table->frames(snapshot.mappings[0].stack).size() == 2);
}

TEST_CASE("a recorder that is told so takes no notice of mappings") {
  using P = Program<RecorderConfig<NoMappingsTest>>;
  const MappingEvent event{.address = at(0x10000), .length = 0x4000, .origin = {}};
  P::Record::record_mappings(false);
  P::Record::on_map(event);
  DetachedMappings detached = P::Record::begin_unmap(event);
  P::Record::finish_unmap(detached);
  const MappingTotals totals = P::snapshot().mapping_totals;
  CHECK(totals.mappings == 0);
  CHECK(totals.unmappings == 0);
}

TEST_CASE("without memory for its counters an allocation is dropped, but its block is known") {
  using P = Program<RecorderConfig<StarvedTest>>;
  std::array<std::uintptr_t, 1> frame{};
  const auto allocate = [&](std::uintptr_t number) {
    frame[0] = number;
    ScriptedStack::play(frame);
    P::allocate(16 * number, 1);
  };
  const auto allocate_all = [&](std::uintptr_t first, std::uintptr_t last) {
    for (std::uintptr_t number = first; number <= last; ++number) allocate(number);
  };
  // The thread has counters for these, and room for 31 more.
  allocate_all(1, 32);
  // Known to the process, but not to this thread.
  std::thread([&] { allocate_all(101, 132); }).join();
  {
    const StarvedArena starved;
    allocate_all(101, 132);
    // Not the last allocation, though the last that was counted.
    P::free(16 * 131);
    allocate(1);
    P::free(16 * 132);
  }
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.account.dropped == 1);
  CHECK(snapshot.totals.allocations == 32 + 32 + 31 + 1);
  // 33 addresses were handed out twice.
  CHECK(snapshot.account.unseen_frees == 33);
  CHECK(snapshot.totals.deallocations == 33 + 2);
  CHECK(snapshot.account.unmatched_frees == 0);
  CHECK(snapshot.totals.live_allocations == 32 + 30);
  CHECK(snapshot.totals.temporary_allocations == 0);
}

TEST_CASE("a stack that could not be kept for want of memory is kept next time") {
  using P = Program<RecorderConfig<UnknownStackTest>>;
  ScriptedStack::play(kStack);
  {
    StarvedArena starved;
    // For the thread's totals alone.
    starved.give_back(1, std::bit_ceil(sizeof(ThreadStats)));
    P::allocate(0x1000, 10);
  }
  P::allocate(0x2000, 100);
  const Snapshot snapshot = P::snapshot();
  REQUIRE(snapshot.stacks.size() == 2);
  CHECK(snapshot.stacks[0].stack == kUnknownStack);
  CHECK(snapshot.stacks[0].total.allocated_bytes == 10);
  CHECK(snapshot.stacks[1].total.allocated_bytes == 100);
  CHECK(snapshot.table->frames(snapshot.stacks[1].stack).size() == 2);
}

TEST_CASE("the events of a thread without memory for totals are dropped, each counted") {
  using P = Program<RecorderConfig<NoTotalsTest>>;
  ScriptedStack::play(kStack);
  {
    const StarvedArena starved;
    P::allocate(0x1000, 10);
    P::free(0x1000);
    P::reallocate(0x1000, 0x2000, 20);
  }
  CHECK(P::snapshot().account.dropped == 4);
  P::allocate(0x1000, 10);
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.account.dropped == 4);
  CHECK(snapshot.totals.allocations == 1);
}
