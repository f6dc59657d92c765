#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "alloctap/stack/stack_table.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::Arena;
using alloctap::StackFrames;
using alloctap::StackStorage;
using alloctap::StackTableEntry;
using alloctap::testing::StarvedArena;

using Frames = std::vector<std::uintptr_t>;

const StackTableEntry* keep(StackStorage& storage, const Frames& frames) {
  return storage.keep(alloctap::hash_frames(frames), frames);
}

bool holds(const StackTableEntry* stack, const Frames& frames) {
  const StackFrames kept(stack);
  if (kept.size() != frames.size() || stack->hash != alloctap::hash_frames(frames)) return false;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (kept[i] != frames[i]) return false;
  }
  return std::equal(kept.begin(), kept.end(), frames.begin(), frames.end());
}

/// Calls return and go deeper at random, as in a program; leaf first.
class Program {
 public:
  const Frames& next() {
    const std::size_t stay = frames_.size() - std::min<std::size_t>(frames_.size(), random_() % 6);
    frames_.erase(frames_.begin(), frames_.end() - static_cast<std::ptrdiff_t>(stay));
    for (std::size_t i = random_() % 6; i > 0 && frames_.size() < 60; --i) {
      frames_.insert(frames_.begin(), 0x400000 + random_() % 1000);
    }
    if (frames_.empty()) frames_.push_back(0x400000);
    return frames_;
  }

 private:
  std::mt19937 random_{7};
  Frames frames_;
};

}  // namespace

// So many that some hashes are the same where parts are looked for, and in the bits that are kept
// beside them.
TEST_CASE("parts whose hashes are alike in part are told apart") {
  constexpr std::uintptr_t kStacks = 400'000;
  StackStorage storage;
  std::size_t wrong = 0;
  for (std::uintptr_t i = 0; i < kStacks; ++i) {
    const std::array<std::uintptr_t, 9> frames{1, 2, 3, 4, 5, 6, 7, 8, 0x400000 + i};
    const StackTableEntry* stack = storage.keep(alloctap::hash_frames(frames), frames);
    REQUIRE(stack != nullptr);
    if (StackFrames(stack)[8] != frames[8]) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("no frames are no frames") {
  CHECK(StackFrames().empty());
  CHECK(StackFrames().begin() == StackFrames().end());
}

TEST_CASE("stacks of every depth come back as they were, whatever they share") {
  StackStorage storage;
  Program program;
  std::vector<Frames> stacks;
  for (std::size_t depth = 1; depth <= 40; ++depth) stacks.emplace_back(depth, depth % 3);
  for (int i = 0; i < 20'000; ++i) stacks.push_back(program.next());
  std::vector<const StackTableEntry*> kept;
  for (const Frames& frames : stacks) kept.push_back(keep(storage, frames));
  std::size_t right = 0;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    if (kept[i] != nullptr && holds(kept[i], stacks[i])) ++right;
  }
  CHECK(right == stacks.size());
}

TEST_CASE("what stacks have in common outside is kept once") {
  StackStorage storage;
  Frames frames(100);
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = i * 7 + 1;
  const StackTableEntry* first = keep(storage, frames);
  frames[0] = 2;
  const StackTableEntry* second = keep(storage, frames);
  CHECK(first->outer == second->outer);
  CHECK(first->own() <= StackStorage::kPartFrames);
  frames[50] = 2;
  CHECK(keep(storage, frames)->outer != first->outer);

  const std::size_t before = Arena::mapped_bytes();
  constexpr std::size_t kStacks = 20'000;
  for (std::size_t i = 0; i < kStacks; ++i) {
    frames[0] = 1000 + i;
    REQUIRE(keep(storage, frames) != nullptr);
  }
  // Four frames of their own and a header, in chunks.
  CHECK(Arena::mapped_bytes() - before <= 70 * kStacks + (1 << 20));
}

TEST_CASE("without memory nothing is kept that is not whole, and later it is") {
  StackStorage storage;
  Frames frames(30, 5);
  const StackTableEntry* refused = nullptr;
  {
    const StarvedArena starved;
    refused = keep(storage, frames);
  }
  CHECK(refused == nullptr);
  CHECK(holds(keep(storage, frames), frames));
}

TEST_CASE("a stack that was not kept does not mislead the next one") {
  StackStorage storage;
  const Frames inner(30, 5);
  const Frames deeper(40, 5);
  const StackTableEntry* const first = keep(storage, deeper);
  REQUIRE(first != nullptr);
  REQUIRE(keep(storage, inner) != nullptr);
  {
    const StarvedArena starved;
    std::uintptr_t frame = 6;
    while (keep(storage, Frames(30, frame)) != nullptr) {
      REQUIRE(keep(storage, inner) != nullptr);
      ++frame;
    }
  }
  const StackTableEntry* const again = keep(storage, deeper);
  CHECK(holds(again, deeper));
  CHECK(again->outer == first->outer);
}

TEST_CASE("stacks that leave by turns what they share come back as they were") {
  StackStorage storage;
  const Frames one(50, 5);
  Frames other(50, 5);
  other[20] = 6;
  const Frames shorter(17, 5);
  const StackTableEntry* const kept_one = keep(storage, one);
  const StackTableEntry* const kept_other = keep(storage, other);
  REQUIRE(kept_one != nullptr);
  REQUIRE(kept_other != nullptr);
  CHECK(kept_one->outer != kept_other->outer);
  for (int i = 0; i < 3; ++i) {
    CHECK(keep(storage, one)->outer == kept_one->outer);
    CHECK(holds(keep(storage, shorter), shorter));
    CHECK(keep(storage, other)->outer == kept_other->outer);
    CHECK(holds(keep(storage, {}), {}));
  }
}

TEST_CASE("stacks of two owners share all frames but the innermost ones") {
  StackStorage storage;
  std::vector<std::uintptr_t> frames(100);
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = i + 1;
  const alloctap::StackHash hash = alloctap::hash_frames(frames);
  const alloctap::StackOwner owner{.tag = 7};
  const StackTableEntry* retired = storage.keep(hash, frames);
  const StackTableEntry* owned = storage.keep(hash.owned_by(owner), frames, owner);
  REQUIRE(retired != nullptr);
  REQUIRE(owned != nullptr);
  CHECK(owned != retired);
  CHECK(owned->outer == retired->outer);
  CHECK(owned->owner == owner);
  CHECK(owned->outer->owner.is_empty());
  CHECK(owned->depth == frames.size());
  CHECK(owned->own() == frames.size() % StackStorage::kPartFrames);
}
