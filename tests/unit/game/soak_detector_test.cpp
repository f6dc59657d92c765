#include "alloctap/game/soak_detector.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::at;
using alloctap::testing::ScriptedConfig;
using alloctap::testing::ScriptedStack;
using alloctap::testing::StarvedArena;

/// A program with an allocator of its own; stacks are numbers, blocks are never at one place twice.
template <class Hook>
struct ScriptedGame {
  std::uintptr_t allocate(std::uintptr_t stack, std::size_t bytes) {
    frame = {stack};
    ScriptedStack::play(frame);
    const std::uintptr_t block = next;
    next += bytes / 16 * 16 + 16;
    Hook::on_allocate(at(block), bytes);
    return block;
  }
  static void free(std::uintptr_t block) { Hook::on_free(at(block)); }

  std::array<std::uintptr_t, 1> frame{};
  std::uintptr_t next = 0x100000000;
};

enum PlannedStack : std::uintptr_t { kLeak = 1, kLoading, kCache, kChurn, kQueue, kScratch };

/// A snapshot in which stack `kFirstStack` + i holds `held[i]` bytes, after `allocations` calls.
Snapshot snapshot_with(const StackTable& table, std::uint64_t allocations,
                       const std::vector<std::uint64_t>& held) {
  Snapshot snapshot;
  snapshot.table = &table;
  snapshot.totals.allocations = allocations;
  for (std::size_t i = 0; i < held.size(); ++i) {
    const auto stack = static_cast<StackId>(kFirstStack + i);
    static_cast<void>(snapshot.stacks.push_back({stack, {}, 1, held[i]}));
  }
  return snapshot;
}

StackTable made_up_table;

}  // namespace

TEST_CASE("a leak of 100 bytes in a frame is named within 2,000 frames, and nothing else ever") {
  using Tracker = Tracker<ScriptedConfig<struct PlantedLeak>>;
  const Session session = testing::started<Tracker>();
  ScriptedGame<Tracker::Hook> game;
  SoakDetector soak;
  std::vector<std::uintptr_t> cache;
  std::deque<std::uintptr_t> queue;
  std::uintptr_t churn = game.allocate(kChurn, 1);
  for (std::uint64_t frame = 1; frame <= 2000; ++frame) {
    static_cast<void>(game.allocate(kLeak, 100));
    if (frame <= 500) static_cast<void>(game.allocate(kLoading, 5000));
    cache.push_back(game.allocate(kCache, 300));
    if (cache.size() == 250) {
      for (const std::uintptr_t block : cache) game.free(block);
      cache.clear();
    }
    game.free(churn);
    churn = game.allocate(kChurn, 1000 + frame % 77 * 13);
    queue.push_back(game.allocate(kQueue, 50));
    while (frame % 3 == 0 && queue.size() > frame % 7) {
      game.free(queue.front());
      queue.pop_front();
    }
    game.free(game.allocate(kScratch, frame));
    if (frame % 20 != 0) continue;
    const Snapshot mark = testing::snapshot_of<Tracker>();
    REQUIRE(soak.add(mark).ok());
    const auto suspects = soak.suspects();
    REQUIRE(suspects.ok());
    for (const SoakSuspect& suspect : *suspects) {
      CHECK(*mark.table->frames(suspect.stack).begin() == kLeak);
    }
  }
  const auto suspects = soak.suspects();
  REQUIRE(suspects.ok());
  REQUIRE(suspects->size() == 1);
  const SoakSuspect& suspect = (*suspects)[0];
  CHECK(suspect.bytes_per_mark == doctest::Approx(2000).epsilon(0.05));
  CHECK(suspect.confidence > 0.99);
  CHECK(suspect.confidence <= 1);
  CHECK(suspect.last_bytes == 200'000);
  CHECK(soak.left_out() == 0);
}

TEST_CASE("suspects come by confidence, and then by what they lose") {
  SoakDetector soak;
  std::vector<std::uint64_t> held(3);
  for (std::uint64_t mark = 1; mark <= 100; ++mark) {
    held[0] = mark * 10;
    held[1] = mark * 20;
    held[2] = mark / 2 * 100;
    REQUIRE(soak.add(snapshot_with(made_up_table, mark, held)).ok());
  }
  const auto suspects = soak.suspects();
  REQUIRE(suspects.ok());
  REQUIRE(suspects->size() == 3);
  CHECK((*suspects)[0].confidence >= (*suspects)[1].confidence);
  const auto position = [&](StackId stack) {
    std::size_t i = 0;
    while ((*suspects)[i].stack != stack) ++i;
    return i;
  };
  CHECK(position(kFirstStack + 1) < position(kFirstStack));
}

TEST_CASE("the more stacks are watched, the less is said of one") {
  constexpr SoakOptions kEarly{.fewest_marks = 10, .confidence = 0.5};
  SoakDetector alone(kEarly);
  SoakDetector among_others(kEarly);
  std::vector<std::uint64_t> held(50);
  for (std::uint64_t mark = 0; mark <= 24; ++mark) {
    for (std::size_t i = 1; i < held.size(); ++i) held[i] = 100 + (mark + i) % 7;
    held[0] = mark * 10;
    REQUIRE(alone.add(snapshot_with(made_up_table, mark, {held[0]})).ok());
    REQUIRE(among_others.add(snapshot_with(made_up_table, mark, held)).ok());
  }
  const auto one = alone.suspects();
  const auto of_many = among_others.suspects();
  REQUIRE(one->size() == 1);
  REQUIRE(of_many->size() == 1);
  const SoakSuspect& suspect = (*one)[0];
  CHECK(suspect.marks == 25);
  CHECK(suspect.first_bytes == 0);
  CHECK((*of_many)[0].finding.chance == suspect.finding.chance);
  CHECK(1 - (*of_many)[0].confidence == doctest::Approx(50 * (1 - suspect.confidence)));
}

TEST_CASE("marks of a warm-up are passed over") {
  SoakDetector soak({.warm_up_marks = 60});
  for (std::uint64_t mark = 1; mark <= 140; ++mark) {
    REQUIRE(soak.add(snapshot_with(made_up_table, mark, {std::min<std::uint64_t>(mark, 60)})).ok());
    CHECK(soak.suspects()->empty());
  }
  CHECK(soak.marks() == 140);
}

TEST_CASE("with room for few stacks those that grow have their turn") {
  SoakDetector soak({.most_stacks = 4});
  std::vector<std::uint64_t> held(40);
  std::size_t most_left_out = 0;
  for (std::uint64_t mark = 1; mark <= 400; ++mark) {
    for (std::size_t i = 0; i < held.size(); ++i) held[i] = 100 + mark * 7 * (i + 1) % 13;
    held[37] = mark * 10;
    REQUIRE(soak.add(snapshot_with(made_up_table, mark, held)).ok());
    most_left_out = std::max(most_left_out, soak.left_out());
  }
  CHECK(most_left_out > 0);
  REQUIRE(soak.suspects()->size() == 1);
  CHECK((*soak.suspects())[0].stack == kFirstStack + 37);
}

TEST_CASE("a snapshot of another tracker or of an earlier moment is no mark") {
  static StackTable other_table;
  SoakDetector soak;
  REQUIRE(soak.add(snapshot_with(made_up_table, 5, {1})).ok());
  CHECK(soak.add(snapshot_with(other_table, 6, {1})).code() ==
        alloctap::StatusCode::kInvalidArgument);
  CHECK(soak.add(snapshot_with(made_up_table, 4, {1})).code() ==
        alloctap::StatusCode::kFailedPrecondition);
  CHECK(soak.add(snapshot_with(made_up_table, 5, {})).ok());
  CHECK(soak.marks() == 2);
}

TEST_CASE("two threads may take marks at once") {
  SoakDetector soak;
  std::array<std::uint64_t, 2> refused{};
  const auto take_marks = [&](std::uint64_t& count) {
    for (std::uint64_t mark = 1; mark <= 200; ++mark) {
      count += !soak.add(snapshot_with(made_up_table, mark, {mark})).ok();
    }
  };
  std::thread other(take_marks, std::ref(refused[1]));
  take_marks(refused[0]);
  other.join();
  CHECK(soak.marks() + refused[0] + refused[1] == 400);
  CHECK(soak.suspects().ok());
}

TEST_CASE("without memory a soak detector says so") {
  SoakDetector soak;
  REQUIRE(soak.add(snapshot_with(made_up_table, 1, {})).ok());
  const Snapshot second = snapshot_with(made_up_table, 2, {1});
  alloctap::Status status;
  {
    const StarvedArena starved;
    status = soak.add(second);
  }
  CHECK(status.code() == alloctap::StatusCode::kResourceExhausted);
}

TEST_CASE("stacks stay in order when memory runs out between them") {
  for (std::size_t known = 1; known < 40; ++known) {
    CAPTURE(known);
    SoakDetector soak;
    // The first two stacks hold nothing yet; those behind them grow from the start.
    std::vector<std::uint64_t> held(2 + known, 0);
    const auto mark = [&](std::uint64_t number) {
      return soak.add(snapshot_with(made_up_table, number, held));
    };
    REQUIRE(mark(1).ok());
    for (std::size_t i = 2; i < held.size(); ++i) held[i] = 100;
    REQUIRE(mark(2).ok());
    for (std::uint64_t& bytes : held) bytes += 100;
    const Snapshot third = snapshot_with(made_up_table, 3, held);
    {
      const StarvedArena starved;
      static_cast<void>(soak.add(third));
    }
    for (std::uint64_t number = 4; number < 120; ++number) {
      for (std::uint64_t& bytes : held) bytes += 100;
      REQUIRE(mark(number).ok());
    }
    const auto suspects = soak.suspects();
    REQUIRE(suspects.ok());
    std::set<StackId> stacks;
    for (const SoakSuspect& suspect : *suspects) stacks.insert(suspect.stack);
    CHECK(stacks.size() == suspects->size());
    CHECK(stacks.size() == held.size());
  }
}
