#include "alloctap/game/frames.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>

#include "alloctap/observe/observers.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "tests/unit/game/frames_fixture.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

struct CountsTest;
struct FreesTest;
struct PeakTest;
struct ManyTagsTest;
struct IdleTest;
struct MarkersTest;
struct SuccessorTest;
struct RacingMarksTest;
struct MarkInsideTest;
struct NoTagsTest;

}  // namespace

TEST_CASE("each frame has what its threads allocated, by tag, and nothing of the loading before") {
  using G = Game<CountsTest>;
  G::allocate(0x1000, 1 << 20);
  CHECK(G::Frames::current() == 0);
  CHECK(G::Frames::mark());
  CHECK(G::Frames::current() == 1);
  const Tag physics{process_tags.find_or_add(kNoTag, "frames_test physics")};
  std::thread([&] {
    const tag_scope scope{physics};
    G::allocate_many(0x2000, 3, 100);
  }).join();
  {
    const tag_scope scope{physics};
    G::allocate(0x3000, 50);
    G::free(0x3000);
  }
  G::allocate(0x4000, 7);
  CHECK(G::Frames::mark());
  G::allocate(0x5000, 9);
  CHECK(G::Frames::mark());
  const Snapshot snapshot = G::snapshot();
  const FrameHistory& frames = snapshot.frames;
  CHECK(frames.known);
  CHECK(frames.frames == 2);
  CHECK(frames.refused_marks == 0);
  CHECK(frames.rows.empty());
  REQUIRE(frames.last.size() == 2);
  CHECK(frames.last[0].number == 1);
  CHECK(
      frames.last[0].counts ==
      FrameCounts{.allocations = 5, .allocated_bytes = 357, .deallocations = 1, .freed_bytes = 50});
  CHECK(frames.last[0].tag_count == 2);
  CHECK(
      tag_of(snapshot, frames.last[0], physics).counts ==
      FrameCounts{.allocations = 4, .allocated_bytes = 350, .deallocations = 1, .freed_bytes = 50});
  CHECK(tag_of(snapshot, frames.last[0], physics).held_bytes == 300);
  CHECK(tag_of(snapshot, frames.last[0], current_tag()).held_bytes == (1 << 20) + 7);
  CHECK(frames.last[1].counts == FrameCounts{.allocations = 1, .allocated_bytes = 9});
  CHECK(frames.last[1].held_bytes == snapshot.totals.live_bytes);
  CHECK(frames.last[1].begin_ns == frames.last[0].begin_ns + frames.last[0].duration_ns);
  CHECK(frames.last[1].duration_ns >= 0);
}

TEST_CASE("a free counts for the tag that allocated, whoever frees") {
  using G = Game<FreesTest>;
  const Tag sound{process_tags.find_or_add(kNoTag, "frames_test sound")};
  {
    const tag_scope scope{sound};
    G::allocate(0x1000, 64);
  }
  G::Frames::mark();
  std::thread([] { G::free(0x1000); }).join();
  G::Frames::mark();
  const Snapshot snapshot = G::snapshot();
  REQUIRE(snapshot.frames.last.size() == 1);
  CHECK(tag_of(snapshot, snapshot.frames.last[0], sound).counts ==
        FrameCounts{.deallocations = 1, .freed_bytes = 64});
  CHECK(tag_of(snapshot, snapshot.frames.last[0], sound).held_bytes == 0);
  CHECK(tag_of(snapshot, snapshot.frames.last[0], sound).peak_bytes == 64);
  CHECK(snapshot.frames.last[0].tag_count == 1);
}

TEST_CASE("what a frame held at its end, and at most, follows from what is live now") {
  using G = Game<PeakTest>;
  G::allocate(0x1000, 1000);
  G::Frames::mark();
  G::allocate(0x2000, 500);
  G::allocate(0x3000, 300);
  G::free(0x2000);
  G::allocate(0x5000, 10);
  G::free(0x5000);
  G::Frames::mark();
  G::Frames::mark();
  G::free(0x1000);
  G::Frames::mark();
  G::allocate(0x4000, 4);
  const Snapshot snapshot = G::snapshot();
  const auto& last = snapshot.frames.last;
  REQUIRE(last.size() == 3);
  CHECK(last[0].held_bytes == 1300);
  CHECK(last[0].peak_bytes == 1800);
  CHECK(tag_of(snapshot, last[0], current_tag()).peak_bytes == 1800);
  CHECK(last[1].held_bytes == 1300);
  CHECK(last[1].peak_bytes == 1300);
  CHECK(last[1].tag_count == 0);
  CHECK(last[2].held_bytes == 300);
  CHECK(last[2].peak_bytes == 1300);
}

TEST_CASE("a thread that is in too many tags in one frame tells of the others as one") {
  using G = Game<ManyTagsTest>;
  G::Frames::mark();
  const TagId outer = process_tags.find_or_add(kNoTag, "frames_test assets");
  for (std::uint32_t i = 0; i < 200; ++i) {
    const tag_scope scope{Tag{process_tags.find_or_add(outer, std::to_string(i))}};
    G::allocate(0x1000 + i * 16, 1);
  }
  G::Frames::mark();
  {
    const tag_scope scope{Tag{process_tags.find_or_add(outer, "199")}};
    G::allocate(0x9000, 1);
  }
  G::Frames::mark();
  const Snapshot snapshot = G::snapshot();
  REQUIRE(snapshot.frames.last.size() == 2);
  const FrameSummary& full = snapshot.frames.last[0];
  CHECK(full.counts.allocations == 200);
  CHECK(full.tag_count == ThreadFrames::kMaxTags);
  CHECK(tag_of(snapshot, full, {kOtherTags}).counts.allocations ==
        200 - (ThreadFrames::kMaxTags - 1));
  CHECK(tag_of(snapshot, snapshot.frames.last[1], {process_tags.find_or_add(outer, "199")})
            .counts.allocations == 1);
}

TEST_CASE("frames in which nothing happens are frames") {
  using G = Game<IdleTest>;
  for (int i = 0; i < 4; ++i) G::Frames::mark();
  const Snapshot snapshot = G::snapshot();
  REQUIRE(snapshot.frames.last.size() == 3);
  CHECK(snapshot.frames.histograms[0][0] == 3);
  CHECK(snapshot.frames.worst[0].empty());
}

TEST_CASE("a mark by another thread than the one before is told") {
  using G = Game<MarkersTest>;
  for (int i = 0; i < 5; ++i) {
    std::thread([] {
      G::allocate(0x1000, 1);
      G::free(0x1000);
      G::Frames::mark();
      G::Frames::mark();
    }).join();
  }
  CHECK(G::snapshot().frames.marking_thread_changes == 4);
}

TEST_CASE("a marker is another thread though it has the state of the one before, which has ended") {
  using G = Game<SuccessorTest>;
  const alloctap::ThreadState* first = nullptr;
  std::thread([&] {
    G::allocate(0x1000, 1);
    first = alloctap::ThreadStates::mine();
    G::Frames::mark();
  }).join();
  bool taken_over = false;
  // States of ended threads are handed on once there are some.
  for (int i = 0; i < 10'000 && !taken_over; ++i) {
    std::thread([&] {
      taken_over = alloctap::ThreadStates::mine() == first;
      if (taken_over) G::Frames::mark();
    }).join();
  }
  REQUIRE(taken_over);
  CHECK(G::snapshot().frames.marking_thread_changes == 1);
}

TEST_CASE("of marks that meet one is refused, and each other one ends a frame") {
  using G = Game<RacingMarksTest>;
  constexpr std::uint64_t kMarks = 100'000;
  std::atomic<std::uint64_t> made{0};
  std::atomic<std::uint64_t> tried{0};
  std::atomic<int> ready{0};
  std::array<std::thread, 2> threads;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i] = std::thread([&, i] {
      G::allocate(0x1000 + i * 0x1000, 8, 0x100 + i);
      // Together, so that they meet.
      for (++ready; ready < 2;) std::this_thread::yield();
      std::uint64_t mine = 0;
      std::uint64_t marks = 0;
      // The other one may stand still inside of a mark for a while.
      for (; marks < kMarks || mine == 0; ++marks) mine += G::Frames::mark() ? 1 : 0;
      made += mine;
      tried += marks;
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Snapshot snapshot = G::snapshot();
  CHECK(snapshot.frames.frames + 1 == made);
  CHECK(snapshot.frames.refused_marks == tried - made);
  CHECK(snapshot.frames.marking_thread_changes >= 1);
  CHECK(snapshot.frames.last.size() ==
        std::min<std::uint64_t>(made - 1, GameFrameLog::kLastFrames));
}

TEST_CASE("a mark inside of the tracker is refused") {
  using G = Game<MarkInsideTest>;
  {
    const RecordingScope section;
    CHECK_FALSE(G::Frames::mark());
  }
  CHECK(G::Frames::current() == 0);
  CHECK(G::snapshot().frames.refused_marks == 1);
}

namespace {

struct NoTagsConfig : RecorderConfig<NoTagsTest> {
  using Observers = alloctap::Observers<NoObservers, GameFramesOf<NoTagsTest>>;
};
static_assert(kObserverFeatures<NoTagsConfig::Observers>.wants_owners);
static_assert(!kObserverFeatures<Observers<NoObservers>>.wants_owners);

}  // namespace

TEST_CASE("without tags all is of none, and other observers may stand beside") {
  using P = Program<NoTagsConfig>;
  ScriptedStack::play(kStack);
  GameFramesOf<NoTagsTest>::mark();
  const tag_scope scope{"frames_test ignored"};
  P::allocate(0x1000, 10);
  GameFramesOf<NoTagsTest>::mark();
  const Snapshot snapshot = P::snapshot();
  REQUIRE(snapshot.frames.last.size() == 1);
  CHECK(tag_of(snapshot, snapshot.frames.last[0], {}).counts.allocations == 1);
}
