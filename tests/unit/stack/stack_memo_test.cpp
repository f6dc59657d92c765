#include "alloctap/stack/stack_memo.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tests/support/starved_arena.hpp"
#include "tests/unit/stack/chain_of_words.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::ChainOfWords;

constexpr std::uint64_t kSerial = 7;

/// A memo and a stack of four frames.
struct MemoOfStack {
  void come_by() { memo.learn(leaf(), kSerial, stack.chain); }
  /// With a stack pointer below the words of all stacks that a test has in its own frame.
  [[nodiscard]] UnwindFrame leaf() const {
    constexpr std::uintptr_t kBelow = 64 * 1024;
    UnwindFrame frame = ChainOfWords::frame(stack.chain.size() - 1);
    frame.sp = reinterpret_cast<std::uintptr_t>(this) - kBelow;
    return frame;
  }
  [[nodiscard]] RememberedStack* find(const UnwindFrame& frame, std::uint64_t serial = kSerial) {
    RememberedStack* expected = memo.find_expected(frame, serial);
    return expected != nullptr ? expected : memo.find_other(frame, serial);
  }
  [[nodiscard]] bool knows(const UnwindFrame& frame, std::uint64_t serial = kSerial) {
    return find(frame, serial) != nullptr;
  }

  /// What is known of the leaf is asked for by tests that know it to be there.
  [[nodiscard]] StackHash known_hash() {
    const RememberedStack* known = find(leaf());
    REQUIRE(known != nullptr);
    return known->hash;
  }

  ChainOfWords stack{4};
  StackMemo memo;
};

/// The same frames, but for the outermost function, which was called from elsewhere.
struct StackElsewhere {
  explicit StackElsewhere(std::uintptr_t caller) {
    NotedFrame outermost;
    outermost.frame = {.pc = caller, .sp = 0x9000, .fp = 0x7000};
    stack.chain.push(outermost, true);
    for (std::size_t i = 1; i < 4; ++i) stack.push(i, true);
  }

  void come_by(MemoOfStack& other) { other.memo.learn(other.leaf(), kSerial, stack.chain); }

  ChainOfWords stack{0};
};

/// As many as are kept for one frame.
using StacksElsewhere = std::array<std::optional<StackElsewhere>, StackMemo::kStacks>;

}  // namespace

TEST_CASE("a stack is known when it has come twice from one frame") {
  MemoOfStack twice;
  CHECK_FALSE(twice.knows(twice.leaf()));
  twice.come_by();
  CHECK_FALSE(twice.knows(twice.leaf()));
  twice.come_by();
  const auto* known = twice.find(twice.leaf());
  REQUIRE(known != nullptr);
  CHECK(known->hash == twice.stack.chain.hash(3));
  CHECK(known->stack.depth == 4);
}

TEST_CASE("a stack that has come once is not known under any number") {
  MemoOfStack once;
  once.come_by();
  for (const std::uint64_t serial : {std::uint64_t{0}, kSerial, ~std::uint64_t{1}}) {
    CHECK_FALSE(once.knows(once.leaf(), serial));
  }
}

TEST_CASE("another frame is not known, nor the same one on another stack") {
  MemoOfStack twice;
  twice.come_by();
  twice.come_by();
  UnwindFrame frame = twice.leaf();
  frame.pc += 1;
  CHECK_FALSE(twice.knows(frame));
  frame = twice.leaf();
  frame.sp += 8;
  CHECK_FALSE(twice.knows(frame));
  frame = twice.leaf();
  frame.fp += 8;
  CHECK_FALSE(twice.knows(frame));
  CHECK_FALSE(twice.knows(twice.leaf(), kSerial + 1));
  CHECK(twice.knows(twice.leaf()));
}

TEST_CASE("a function is not known elsewhere on the stack, whatever is there") {
  for (std::uintptr_t function = 0; function < 16; ++function) {
    MemoOfStack twice;
    UnwindFrame leaf = twice.leaf();
    leaf.pc += 0x100 * function;
    for (int i = 0; i < 2; ++i) twice.memo.learn(leaf, kSerial, twice.stack.chain);
    CHECK(twice.knows(leaf));
    // The words there are zeros too.
    for (int further = 0; further < 56; ++further) {
      leaf.sp += sizeof(std::uintptr_t);
      CHECK_FALSE(twice.knows(leaf));
    }
  }
}

TEST_CASE("a stack is not known while one of its words is another") {
  MemoOfStack twice;
  twice.come_by();
  twice.come_by();
  for (std::size_t i = 0; i < 8; ++i) {
    CAPTURE(i);
    twice.stack.words[i] = 1;
    CHECK_FALSE(twice.knows(twice.leaf()));
    twice.stack.words[i] = 0;
    CHECK(twice.knows(twice.leaf()));
  }
}

TEST_CASE("what was noted of a stack is there when it comes again") {
  MemoOfStack twice;
  twice.come_by();
  twice.come_by();
  twice.find(twice.leaf())->place = 4711;
  CHECK(twice.find(twice.leaf())->place == 4711);
}

TEST_CASE("a frame pointer that does not matter is not looked at") {
  MemoOfStack kept;
  kept.stack.push(4, false);
  kept.come_by();
  kept.come_by();
  UnwindFrame frame = kept.leaf();
  frame.fp += 8;
  CHECK(kept.knows(frame));
}

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
  for (std::uintptr_t i = 0; i < 3 * StackMemo::kStacks; ++i) {
    StackElsewhere(0x5000 + i).come_by(first);
  }
  CHECK(first.known_hash() == first.stack.chain.hash(3));
}

TEST_CASE("a stack that comes again is kept if few others have come since") {
  constexpr std::uintptr_t kFew = StackMemo::kNewcomers - 1;
  for (const std::uintptr_t others : {kFew, kFew + 1}) {
    CAPTURE(others);
    MemoOfStack first;
    first.come_by();
    for (std::uintptr_t i = 0; i < others; ++i) StackElsewhere(0x5000 + i).come_by(first);
    first.come_by();
    CHECK(first.knows(first.leaf()) == (others == kFew));
  }
}

TEST_CASE("one stack more from a frame than are kept takes the place of the one kept first") {
  MemoOfStack first;
  for (int i = 0; i < 2; ++i) first.come_by();
  StacksElsewhere others;
  for (std::uintptr_t i = 0; i < StackMemo::kStacks; ++i) {
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

TEST_CASE("without memory no stack is known, and once there is some it is") {
  MemoOfStack stack;
  {
    const testing::StarvedArena starved;
    for (int i = 0; i < 3; ++i) stack.come_by();
  }
  CHECK_FALSE(stack.knows(stack.leaf()));
  for (int i = 0; i < 2; ++i) stack.come_by();
  CHECK(stack.knows(stack.leaf()));
}

TEST_CASE("a stack with words too far apart is left to the chain, and what is known stays") {
  MemoOfStack first;
  for (int i = 0; i < 2; ++i) first.come_by();
  const auto distant = std::make_unique<StackElsewhere>(0x6000);
  for (std::size_t i = 0; i < 2 * StackMemo::kStacks; ++i) distant->come_by(first);
  CHECK(first.known_hash() == first.stack.chain.hash(3));
  first.stack.words[2] = 1;
  CHECK_FALSE(first.knows(first.leaf()));
}

TEST_CASE("a stack with one word too far away is not known as the one whose place it took") {
  MemoOfStack first;
  for (int i = 0; i < 2; ++i) first.come_by();
  StacksElsewhere others;
  for (std::size_t i = 1; i < others.size(); ++i) {
    others[i].emplace(0x5000 + i);
    for (int twice = 0; twice < 2; ++twice) others[i]->come_by(first);
  }
  StackElsewhere torn(0x6000);
  const auto distant = std::make_unique<std::uintptr_t>(0);
  NotedFrame innermost;
  innermost.frame = ChainOfWords::frame(4);
  innermost.words[0] = {.address = reinterpret_cast<std::uintptr_t>(distant.get()), .value = 0};
  innermost.step.word_count = 1;
  torn.stack.chain.push(innermost, true);
  for (int twice = 0; twice < 2; ++twice) torn.come_by(first);
  for (std::size_t i = 1; i < others.size(); ++i) others[i]->stack.words[2] = 1;
  CHECK_FALSE(first.knows(first.leaf()));
}

TEST_CASE("the stack that was found last is expected again") {
  MemoOfStack first;
  for (int i = 0; i < 2; ++i) first.come_by();
  const RememberedStack* known = first.find(first.leaf());
  REQUIRE(known != nullptr);
  for (int i = 0; i < 3; ++i) CHECK(first.memo.find_expected(first.leaf(), kSerial) == known);
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
    const RememberedStack* expected = memo.memo.find_expected(memo.leaf(), kSerial);
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

TEST_CASE("a stack with more words than there is room for is left to the chain") {
  constexpr std::size_t kFrames = StackMemo::kMostWords / 2 + 1;
  std::vector<std::uintptr_t> words(2 * kFrames);
  VerifiedChain chain;
  REQUIRE(chain.reserve(kFrames));
  StackMemo memo;
  for (std::size_t frames = 1; frames <= kFrames; ++frames) {
    NotedFrame noted;
    noted.frame = ChainOfWords::frame(frames - 1);
    noted.frame.sp = reinterpret_cast<std::uintptr_t>(words.data());
    for (std::size_t i = 0; i < 2; ++i) {
      noted.words[i] = {.address = reinterpret_cast<std::uintptr_t>(&words[2 * frames - 2 + i]),
                        .value = 0};
    }
    noted.step.word_count = 2;
    chain.push(noted, true);
    for (int i = 0; i < 2; ++i) memo.learn(noted.frame, kSerial, chain);
    CHECK((memo.find_expected(noted.frame, kSerial) != nullptr) == (frames < kFrames));
  }
  chain.release();
}
