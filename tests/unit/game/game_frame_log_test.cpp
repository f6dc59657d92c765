#include "alloctap/game/game_frame_log.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>

#include "tests/unit/game/frames_fixture.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

struct LongTest;
struct ManyRowsTest;
struct IdleThreadTest;

std::array<Tag, 100> many_tags() {
  const TagId outer = process_tags.find_or_add(kNoTag, "game_frame_log_test");
  std::array<Tag, 100> tags;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    tags[i] = {process_tags.find_or_add(outer, std::to_string(i))};
  }
  return tags;
}

}  // namespace

TEST_CASE("of many frames the last are kept, and all are counted") {
  using G = Game<LongTest>;
  constexpr std::size_t kFrames = GameFrameLog::kLastFrames + 10;
  G::Frames::mark();
  for (std::size_t i = 0; i < kFrames; ++i) {
    G::allocate(0x1000, 3);
    G::free(0x1000);
    G::Frames::mark();
  }
  const Snapshot snapshot = G::snapshot();
  const auto& last = snapshot.frames.last;
  CHECK(snapshot.frames.frames == kFrames);
  CHECK(snapshot.frames.histograms[0][1] == kFrames);
  CHECK(snapshot.frames.histograms[1][2] == kFrames);
  REQUIRE(last.size() == GameFrameLog::kLastFrames);
  CHECK(last[0].number == kFrames - GameFrameLog::kLastFrames + 1);
  for (const FrameSummary& frame : last) REQUIRE(frame.counts.allocations == 1);
}

TEST_CASE("frames whose rows found no room any more are not told, and the others are whole") {
  using G = Game<ManyRowsTest>;
  const std::array<Tag, 100> tags = many_tags();
  for (std::size_t i = 0; i < 400; ++i) {
    G::Frames::mark();
    for (const Tag tag : tags) {
      const tag_scope scope{tag};
      G::allocate(0x1000, 1);
      G::free(0x1000);
    }
  }
  G::Frames::mark();
  const Snapshot snapshot = G::snapshot();
  const auto& last = snapshot.frames.last;
  CHECK(snapshot.frames.frames == 400);
  CHECK(last.size() < 400);
  CHECK(last.size() > FrameRowRing::kCapacity / (tags.size() + 1) - 3);
  for (const FrameSummary& frame : last) REQUIRE(frame.tag_count == tags.size());
}

TEST_CASE("rows that a thread wrote long after their frame do not make that frame a whole one") {
  using G = Game<IdleThreadTest>;
  const std::array<Tag, 100> tags = many_tags();
  const auto frame_of = [&](std::size_t tag_count) {
    for (std::size_t i = 0; i < tag_count; ++i) {
      const tag_scope scope{tags[i]};
      G::allocate(0x1000, 1);
      G::free(0x1000);
    }
    G::Frames::mark();
  };
  G::Frames::mark();
  std::atomic<int> turn{0};
  std::thread idle([&] {
    G::allocate(0x2000, 1, 0x300);
    ++turn;
    while (turn < 2) std::this_thread::yield();
    G::allocate(0x3000, 1, 0x300);
    ++turn;
  });
  while (turn < 1) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) frame_of(tags.size());
  ++turn;
  while (turn < 3) std::this_thread::yield();
  idle.join();
  // The two rows of the idle thread become the oldest ones: of frame 1, written in frame 101. Those
  // of frame 100 follow, when this thread meets the next one.
  std::size_t room = FrameRowRing::kCapacity - 2 - (tags.size() + 1);
  for (; room >= tags.size() + 1; room -= tags.size() + 1) frame_of(tags.size());
  for (; room > 1; room -= 2) frame_of(1);
  G::allocate(0x4000, 1);
  const Snapshot snapshot = G::snapshot();
  const auto& last = snapshot.frames.last;
  REQUIRE(last.size() > 100);
  CHECK(last[0].number > 100);
  for (const FrameSummary& frame : last) REQUIRE(frame.counts.allocations > 0);
}
