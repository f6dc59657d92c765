#include <doctest/doctest.h>

#include <thread>

#include "alloctap/game/game_frame_log.hpp"
#include "tests/unit/game/frames_fixture.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

struct WorstTest;
struct ManyStacksTest;
struct OwnStacksTest;

const ArenaArray<WorstFrame>& worst_of(const Snapshot& snapshot, FrameMeasure measure) {
  return snapshot.frames.worst[static_cast<std::size_t>(measure)];
}

}  // namespace

TEST_CASE("the worst frames of each measure are kept with their stacks") {
  using G = Game<WorstTest>;
  G::Frames::mark();
  for (std::uint32_t frame = 1; frame <= 40; ++frame) {
    // Frame 7 has most blocks, frame 21 most bytes.
    G::allocate_many(0x1000, frame == 7 ? 500 : frame, 1, 0x111);
    std::thread([frame, tag = current_tag()] {
      const tag_scope job{tag};
      G::allocate_many(0x9000, 2, frame == 21 ? 4000 : 10, 0x222);
    }).join();
    G::allocate_many(0xA000, 1, 10, 0x222);
    G::Frames::mark();
  }
  const Snapshot snapshot = G::snapshot();
  const auto& by_count = worst_of(snapshot, FrameMeasure::kAllocations);
  REQUIRE(by_count.size() == WorstFrames::kMaxCount);
  CHECK(by_count[0].number == 7);
  CHECK(by_count[0].counts.allocations == 503);
  REQUIRE(by_count[0].stack_count == 2);
  CHECK(by_count[0].stacks[0].allocations == 500);
  CHECK(caller_of(snapshot, by_count[0].stacks[0].stack) == 0x111);
  CHECK(by_count[0].stacks[1].allocations == 3);
  CHECK(by_count[0].stacks[1].allocated_bytes == 30);
  CHECK(by_count[0].other_stacks.allocations == 0);
  CHECK(by_count[1].number == 40);
  CHECK(by_count.begin()[15].number == 26);
  const auto& by_bytes = worst_of(snapshot, FrameMeasure::kBytes);
  REQUIRE(by_bytes.size() == WorstFrames::kMaxCount);
  CHECK(by_bytes[0].number == 21);
  CHECK(caller_of(snapshot, by_bytes[0].stacks[0].stack) == 0x222);
  CHECK(by_bytes[0].stacks[0].allocated_bytes == 8010);
  CHECK(worst_of(snapshot, FrameMeasure::kAllocatorTime).empty());
  CHECK(worst_of(snapshot, FrameMeasure::kDuration).size() == WorstFrames::kMaxCount);
  CHECK(snapshot.frames.histograms[0][9] == 1);
  std::size_t visited = 0;
  for_each_stack(snapshot.frames, [&](StackId stack) { visited += stack != kNoStackId ? 1 : 0; });
  CHECK(visited == 2 * 3 * WorstFrames::kMaxCount);
}

TEST_CASE("each of the worst frames has its own stacks and times") {
  using G = Game<OwnStacksTest>;
  G::Frames::mark();
  G::allocate(0x1000, 10, 0x111);
  G::Frames::mark();
  G::allocate(0x2000, 20, 0x222);
  G::Frames::mark();
  const Snapshot snapshot = G::snapshot();
  const auto& by_bytes = worst_of(snapshot, FrameMeasure::kBytes);
  REQUIRE(by_bytes.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const WorstFrame& frame = by_bytes[i];
    REQUIRE(frame.number == 2 - i);
    CHECK(frame.begin_ns == snapshot.frames.last[frame.number - 1].begin_ns);
    CHECK(frame.duration_ns == snapshot.frames.last[frame.number - 1].duration_ns);
    REQUIRE(frame.stack_count == 1);
    CHECK(caller_of(snapshot, frame.stacks[0].stack) == (frame.number == 1 ? 0x111U : 0x222U));
  }
}

TEST_CASE("stacks that find no room in a frame are told as one") {
  using G = Game<ManyStacksTest>;
  G::Frames::mark();
  for (std::uintptr_t i = 0; i < 1000; ++i) G::allocate(0x1000 + i * 16, 2, 0x10000 + i);
  G::allocate_many(0x9000, 50, 2, 0x10000);
  G::Frames::mark();
  const Snapshot snapshot = G::snapshot();
  const auto& by_count = worst_of(snapshot, FrameMeasure::kAllocations);
  REQUIRE(by_count.size() == 1);
  const WorstFrame& worst = by_count[0];
  CHECK(worst.stack_count == WorstFrame::kMaxStacks);
  CHECK(worst.stacks[0].allocations == 51);
  CHECK(worst.other_stacks.allocations == 1050 - 51 - (WorstFrame::kMaxStacks - 1));
  CHECK(worst.other_stacks.allocated_bytes == 2 * worst.other_stacks.allocations);
}

TEST_CASE("of frames that are as bad the earlier stay") {
  WorstFrames frames;
  for (std::uint64_t number = 1; number <= 20; ++number) {
    if (frames.admits(5)) frames.add(5).number = number;
  }
  REQUIRE_FALSE(frames.admits(5));
  frames.add(6).number = 100;
  ArenaArray<WorstFrame> list;
  REQUIRE(frames.copy(list));
  REQUIRE(list.size() == WorstFrames::kMaxCount);
  CHECK(list[0].number == 100);
  CHECK(list[15].number == 15);
}

TEST_CASE("sums over more stacks than there is room for are those of the first") {
  static FrameStackSums sums;
  for (StackId stack = 1; stack <= 5000; ++stack) sums.add({.stack = stack, .allocations = stack});
  WorstFrame worst;
  worst.counts.allocations = 5000 * 5001 / 2;
  sums.copy_most(FrameMeasure::kAllocations, worst);
  CHECK(worst.stacks[0].stack == 1024);
  sums.clear();
  sums.add({.stack = 5000, .allocations = 1});
  sums.copy_most(FrameMeasure::kAllocations, worst);
  CHECK(worst.stack_count == 1);
  CHECK(worst.stacks[0].allocations == 1);
}
