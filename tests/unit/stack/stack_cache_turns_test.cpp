#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/stack/stack_cache.hpp"
#include "tests/unit/stack/memo_of_stack.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::MemoOfStack;
using alloctap::testing::StackElsewhere;
using alloctap::testing::StacksElsewhere;

}  // namespace

TEST_CASE("two stacks that come from one frame by turns are both known, while their words hold") {
  MemoOfStack first;
  StackElsewhere second(0x5000);
  for (int i = 0; i < 2; ++i) first.come_by();
  for (int i = 0; i < 2; ++i) second.come_by(first);
  for (int round = 0; round < 2; ++round) {
    second.stack.words[2] = 1;
    CHECK(first.known_hash() == first.stack.chain.hash(3));
    second.stack.words[2] = 0;
    first.stack.words[2] = 1;
    CHECK(first.known_hash() == second.stack.chain.hash(3));
    first.stack.words[2] = 0;
  }
}

TEST_CASE("stacks that come by turns from the beginning are known") {
  MemoOfStack first;
  StackElsewhere second(0x5000);
  for (int i = 0; i < 2; ++i) {
    first.come_by();
    second.come_by(first);
  }
  second.stack.words[2] = 1;
  CHECK(first.known_hash() == first.stack.chain.hash(3));
  second.stack.words[2] = 0;
  first.stack.words[2] = 1;
  CHECK(first.known_hash() == second.stack.chain.hash(3));
}

TEST_CASE("what is known stays while other stacks from its frame come once") {
  MemoOfStack first;
  for (int i = 0; i < 2; ++i) first.come_by();
  for (std::uintptr_t i = 0; i < 3 * StackCache::kStacks; ++i) {
    StackElsewhere(0x5000 + i).come_by(first);
  }
  CHECK(first.known_hash() == first.stack.chain.hash(3));
}

TEST_CASE("a stack that comes again is kept if few others have come since") {
  constexpr std::uintptr_t kFew = StackCache::kNewcomers - 1;
  for (const std::uintptr_t others : {kFew, kFew + 1}) {
    CAPTURE(others);
    MemoOfStack first;
    first.come_by();
    for (std::uintptr_t i = 0; i < others; ++i) StackElsewhere(0x5000 + i).come_by(first);
    first.come_by();
    CHECK(first.knows(first.leaf()) == (others == kFew));
  }
}

TEST_CASE("a stack that comes again is kept, however many have come before it") {
  for (std::uintptr_t before = 0; before < 2 * StackCache::kNewcomers; ++before) {
    CAPTURE(before);
    MemoOfStack first;
    for (std::uintptr_t i = 0; i < before; ++i) StackElsewhere(0x5000 + i).come_by(first);
    for (int i = 0; i < 2; ++i) first.come_by();
    CHECK(first.knows(first.leaf()));
  }
}

TEST_CASE("one stack more from a frame than are kept takes the place of the one kept first") {
  MemoOfStack first;
  for (int i = 0; i < 2; ++i) first.come_by();
  StacksElsewhere others;
  for (std::uintptr_t i = 0; i < StackCache::kStacks; ++i) {
    others[i].emplace(0x5000 + i);
    CHECK(first.knows(first.leaf()));
    for (int twice = 0; twice < 2; ++twice) others[i]->come_by(first);
  }
  for (auto& other : others) other->stack.words[2] = 1;
  CHECK_FALSE(first.knows(first.leaf()));
  for (auto& other : others) {
    other->stack.words[2] = 0;
    CHECK(first.known_hash() == other->stack.chain.hash(3));
    other->stack.words[2] = 1;
  }
}

TEST_CASE("the stack that was found last is expected again") {
  MemoOfStack first;
  for (int i = 0; i < 2; ++i) first.come_by();
  const RememberedStack* known = first.find(first.leaf());
  REQUIRE(known != nullptr);
  for (int i = 0; i < 3; ++i)
    CHECK(first.memo.find_expected(first.leaf(), MemoOfStack::kSerial) == known);
}

namespace {

/// Stacks from one frame, one of which is there at a time.
struct Turns {
  Turns() {
    for (std::size_t i = 0; i < 3; ++i) {
      stacks[i].emplace(0x5000 + i);
      for (int twice = 0; twice < 2; ++twice) stacks[i]->come_by(memo);
      stacks[i]->stack.words[2] = 1;
    }
    memo.stack.words[2] = 1;
  }

  /// Stack `i` comes, and is known: whether it was expected.
  bool is_expected(std::size_t i) {
    stacks[i]->stack.words[2] = 0;
    const RememberedStack* expected = memo.memo.find_expected(memo.leaf(), MemoOfStack::kSerial);
    const StackHash hash = stacks[i]->stack.chain.hash(3);
    CHECK((expected == nullptr || expected->hash == hash));
    if (expected == nullptr) CHECK(memo.known_hash() == hash);
    stacks[i]->stack.words[2] = 1;
    return expected != nullptr;
  }

  MemoOfStack memo;
  StacksElsewhere stacks;
};

}  // namespace

TEST_CASE("stacks that come by turns are expected, and their turn is learned anew") {
  Turns turns;
  for (const auto& turn : {std::array{0U, 1U, 2U}, std::array{2U, 1U, 0U}}) {
    for (int round = 0; round < 2; ++round) {
      for (const std::size_t i : turn) turns.is_expected(i);
    }
    for (const std::size_t i : turn) CHECK(turns.is_expected(i));
  }
}

TEST_CASE("what follows is noted of the stack that came before, expected or not") {
  Turns turns;
  for (const std::size_t i : {0U, 1U, 0U, 1U, 0U}) turns.is_expected(i);
  CHECK(turns.is_expected(1));
  CHECK_FALSE(turns.is_expected(2));
  turns.is_expected(0);
  CHECK(turns.is_expected(1));
  CHECK(turns.is_expected(2));
}
