#include "alloctap/stack/stack_table.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "alloctap/runtime/thread_state.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::hash_frames;
using alloctap::kNoStackId;
using alloctap::kUnknownStack;
using alloctap::StackHash;
using alloctap::StackId;
using alloctap::StackOwner;
using alloctap::StackTable;
using alloctap::testing::StarvedArena;

using Frames = std::vector<std::uintptr_t>;

/// Stack number `i` of a set whose members are all different, 1 to 24 frames deep.
Frames numbered_stack(std::size_t i) {
  Frames frames{0x400000 + i};
  for (std::size_t depth = 1; depth <= i % 24; ++depth) frames.push_back(0x7F0000 + depth * 16);
  return frames;
}

bool holds(const StackTable& table, StackId id, const Frames& frames) {
  const auto kept = table.frames(id);
  return std::equal(kept.begin(), kept.end(), frames.begin(), frames.end());
}

}  // namespace

TEST_CASE("an equal stack has one id, and its frames come back as they were") {
  const auto table = std::make_unique<StackTable>();
  const Frames frames{0x401000, 0x402000, 0x403000};
  const StackId id = table->intern(frames);
  CHECK(id > kUnknownStack);
  CHECK(table->intern(Frames(frames)) == id);
  CHECK(holds(*table, id, frames));
  CHECK(table->end_id() == id + 1);
}

TEST_CASE("stacks that differ in a frame, in their order or in depth have different ids") {
  const auto table = std::make_unique<StackTable>();
  const std::vector<Frames> stacks{{1, 2, 3}, {1, 2, 4}, {1, 3, 2},    {3, 2, 1}, {1, 2},
                                   {2, 3},    {1},       {1, 2, 3, 0}, {0},       {0, 1, 2, 3},
                                   {1, 1},    {1, 1, 1}, {1, 2, 3, 3}, {0, 0}};
  std::set<StackId> ids;
  for (const Frames& frames : stacks) ids.insert(table->intern(frames));
  CHECK(ids.size() == stacks.size());
  for (const Frames& frames : stacks) CHECK(holds(*table, table->intern(frames), frames));
}

TEST_CASE("a stack is known by its hash once it was kept, and not before") {
  const auto table = std::make_unique<StackTable>();
  const Frames frames{0x401000, 0x402000};
  const StackHash hash = hash_frames(frames);
  CHECK(table->find(hash) == kNoStackId);
  const StackId id = table->intern(hash, frames);
  CHECK(table->find(hash) == id);
  CHECK(table->find({.first = hash.first, .second = hash.second + 1}) == kNoStackId);
  CHECK(table->find({.first = hash.first + 1, .second = hash.second}) == kNoStackId);
}

TEST_CASE("stacks with one half of the hash in common stay apart") {
  const auto table = std::make_unique<StackTable>();
  const Frames one{1};
  const Frames other{2};
  const StackId id = table->intern({.first = 7, .second = 8}, one);
  const StackId other_id = table->intern({.first = 7, .second = 9}, other);
  CHECK(id != other_id);
  CHECK(table->find({.first = 7, .second = 8}) == id);
  CHECK(table->find({.first = 7, .second = 9}) == other_id);
  CHECK(holds(*table, id, one));
  CHECK(holds(*table, other_id, other));
}

TEST_CASE("ids and frames stay right while the table grows many times") {
  constexpr std::size_t kStacks = 40000;
  const auto table = std::make_unique<StackTable>();
  std::vector<StackId> ids;
  for (std::size_t i = 0; i < kStacks; ++i) ids.push_back(table->intern(numbered_stack(i)));
  CHECK(table->end_id() == alloctap::kFirstStack + kStacks);
  std::size_t right = 0;
  for (std::size_t i = 0; i < kStacks; ++i) {
    const Frames frames = numbered_stack(i);
    if (holds(*table, ids[i], frames) && table->intern(frames) == ids[i]) ++right;
  }
  CHECK(right == kStacks);
  CHECK(table->end_id() == alloctap::kFirstStack + kStacks);
}

TEST_CASE("the frames of an id do not move when the table grows") {
  const auto table = std::make_unique<StackTable>();
  const StackId id = table->intern(numbered_stack(23));
  const std::uintptr_t* before = &*table->frames(id).begin();
  for (std::size_t i = 100; i < 10000; ++i) static_cast<void>(table->intern(numbered_stack(i)));
  CHECK(&*table->frames(id).begin() == before);
}

TEST_CASE("threads that intern overlapping stacks agree on every id") {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kStacks = 12000;
  const auto table = std::make_unique<StackTable>();
  std::vector<std::vector<StackId>> ids(kThreads, std::vector<StackId>(kStacks, kNoStackId));
  std::vector<std::size_t> wrong(kThreads, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      // Each leaves out a quarter, and goes its own way through the rest.
      std::vector<std::size_t> order;
      for (std::size_t i = 0; i < kStacks; ++i) {
        if (i % kThreads != t) order.push_back(i);
      }
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(t)));
      for (const std::size_t i : order) {
        const Frames frames = numbered_stack(i);
        ids[t][i] = table->intern(frames);
        if (!holds(*table, ids[t][i], frames)) ++wrong[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<std::size_t>(kThreads, 0));
  CHECK(table->end_id() == alloctap::kFirstStack + kStacks);
  std::size_t agreed = 0;
  for (std::size_t i = 0; i < kStacks; ++i) {
    const StackId id = ids[(i + 1) % kThreads][i];
    if (id == ids[(i + 2) % kThreads][i] && id == ids[(i + 3) % kThreads][i]) ++agreed;
  }
  CHECK(agreed == kStacks);
}

TEST_CASE("threads that meet the same new stacks at the same time get one id for each") {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kStacks = 30000;
  const auto table = std::make_unique<StackTable>();
  std::atomic<std::size_t> ready{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (std::size_t i = 0; i < kStacks; ++i) {
        static_cast<void>(table->intern(numbered_stack(i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(table->end_id() == alloctap::kFirstStack + kStacks);
}

TEST_CASE("the unknown stack is an empty one, and so is what was never given out") {
  const auto table = std::make_unique<StackTable>();
  CHECK(table->intern({}) == kUnknownStack);
  CHECK(table->end_id() == alloctap::kFirstStack);
  for (const StackId id : {kNoStackId, kUnknownStack, alloctap::kStackNotTaken,
                           alloctap::kFirstStack, StackId{0xFFFFFFFF}}) {
    CHECK(table->frames(id).empty());
  }
}

TEST_CASE("the deepest stack that a tracker captures is kept whole") {
  const auto table = std::make_unique<StackTable>();
  Frames frames(alloctap::ThreadState::kMaxFrames);
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = i * 7 + 1;
  for (std::uintptr_t i = 0; i < 20; ++i) {
    frames[0] = i;
    CHECK(holds(*table, table->intern(frames), frames));
  }
}

TEST_CASE("a stack may be of any depth") {
  const auto table = std::make_unique<StackTable>();
  Frames frames(100'000);
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = i * 7 + 1;
  CHECK(holds(*table, table->intern(frames), frames));
}

TEST_CASE("without memory a new stack is unknown and known ones are still found") {
  const auto table = std::make_unique<StackTable>();
  const auto fresh = std::make_unique<StackTable>();
  const Frames known{1, 2, 3};
  const Frames other = {1, 2, 4};
  const StackId id = table->intern(known);
  // Outermost first, so that they share nothing.
  Frames large(4000, 9);
  for (; large.back() < 40; ++large.back()) static_cast<void>(table->intern(large));
  StackId found = kNoStackId;
  StackId first = kNoStackId;
  std::size_t unknown = 0;
  {
    const StarvedArena starved;
    found = table->intern(known);
    first = fresh->intern(known);
    for (; large.back() < 60; ++large.back()) {
      if (table->intern(large) == kUnknownStack) ++unknown;
    }
  }
  CHECK(found == id);
  CHECK(first == kUnknownStack);
  CHECK(unknown > 10);
  CHECK(holds(*table, table->intern(other), other));
  CHECK(holds(*fresh, fresh->intern(other), other));
  CHECK(holds(*table, table->intern(large), large));
}

TEST_CASE("a retired stack keeps its frames, is found no more, and comes again under a new id") {
  const auto table = std::make_unique<StackTable>();
  const Frames frames = numbered_stack(23);
  const StackId old = table->intern(frames);
  const StackId other = table->intern(numbered_stack(24));
  CHECK_FALSE(table->is_retired(old));
  table->retire(old);
  CHECK(table->is_retired(old));
  CHECK_FALSE(table->is_retired(other));
  CHECK(table->find(hash_frames(frames)) == kNoStackId);
  CHECK(holds(*table, old, frames));

  const StackId again = table->intern(frames);
  CHECK(again > other);
  CHECK(table->intern(frames) == again);
  table->retire(old);
  CHECK(table->intern(frames) == again);
  table->retire(again);
  CHECK(table->intern(frames) > again);
  CHECK(holds(*table, again, frames));
}

TEST_CASE("a table with retired stacks grows, and finds what is not retired") {
  const auto table = std::make_unique<StackTable>();
  for (std::size_t i = 0; i < 10'000; ++i) {
    const StackId id = table->intern(numbered_stack(i));
    if (i % 3 == 0) table->retire(id);
  }
  for (std::size_t i = 0; i < 10'000; ++i) {
    const Frames frames = numbered_stack(i);
    const StackId known = table->find(hash_frames(frames));
    REQUIRE((known == kNoStackId) == (i % 3 == 0));
    if (known != kNoStackId) REQUIRE(holds(*table, known, frames));
  }
}

TEST_CASE("the same frames of two owners are two stacks, each with its owner and all frames") {
  const auto table = std::make_unique<StackTable>();
  for (const std::size_t depth : {1U, 7U, 8U, 9U, 23U}) {
    const Frames frames = numbered_stack(depth);
    CAPTURE(depth);
    std::set<StackId> ids;
    for (const StackOwner owner : {StackOwner{}, StackOwner{.tag = 1}, StackOwner{.thread = 1},
                                   StackOwner{.tag = 1, .thread = 1}}) {
      const StackId id = table->intern(frames, owner);
      CHECK(table->intern(frames, owner) == id);
      CHECK(table->owner(id) == owner);
      CHECK(holds(*table, id, frames));
      ids.insert(id);
    }
    CHECK(ids.size() == 4);
  }
  CHECK(table->owner(kUnknownStack) == StackOwner{});
  CHECK(table->owner(table->end_id()) == StackOwner{});
}

TEST_CASE("a stack without frames is kept where it has an owner and nothing else is wrong") {
  const auto table = std::make_unique<StackTable>();
  const StackOwner owner{.tag = 3};
  const StackId id = table->intern(Frames{}, owner);
  CHECK(id > kUnknownStack);
  CHECK(table->owner(id) == owner);
  CHECK(table->frames(id).empty());
  CHECK(table->frames(id).begin() == table->frames(id).end());
  CHECK(table->intern(hash_frames(Frames{1}).owned_by(owner), {}, owner) == kUnknownStack);
  CHECK(table->intern(Frames{}) == kUnknownStack);
}

TEST_CASE("a retired stack keeps its owner, and its frames make a new stack of the same owner") {
  const auto table = std::make_unique<StackTable>();
  const Frames frames = numbered_stack(12);
  const StackOwner owner{.tag = 3, .thread = 9};
  const StackId id = table->intern(frames, owner);
  const StackId other = table->intern(frames);
  table->retire(id);
  CHECK(table->owner(id) == owner);
  CHECK(holds(*table, id, frames));
  CHECK(table->intern(frames, owner) > other);
  CHECK(table->intern(frames) == other);
}
