#include "alloctap/stack/stack_memo.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/unit/stack/chain_of_words.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::ChainOfWords;

constexpr std::uint64_t kSerial = 7;

/// A memo and a stack of four frames.
struct MemoOfStack {
  void come_by() { memo.learn(leaf(), kSerial, stack.chain); }
  [[nodiscard]] UnwindFrame leaf() const { return ChainOfWords::frame(stack.chain.size() - 1); }
  [[nodiscard]] RememberedStack* find(const UnwindFrame& frame, std::uint64_t serial = kSerial) {
    RememberedStack* latest = memo.find_latest(frame, serial);
    return latest != nullptr ? latest : memo.find_other(frame, serial);
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

TEST_CASE("what is known stays while other stacks from its frame come once") {
  MemoOfStack first;
  for (int i = 0; i < 2; ++i) first.come_by();
  for (const std::uintptr_t caller : {0x5000U, 0x6000U, 0x7000U}) {
    StackElsewhere(caller).come_by(first);
  }
  CHECK(first.known_hash() == first.stack.chain.hash(3));
}

TEST_CASE(
    "a third stack from one frame, come twice, takes the place of the one that came less lately") {
  MemoOfStack first;
  StackElsewhere second(0x5000);
  StackElsewhere third(0x6000);
  for (int i = 0; i < 2; ++i) first.come_by();
  for (int i = 0; i < 2; ++i) second.come_by(first);
  for (int i = 0; i < 2; ++i) third.come_by(first);
  second.stack.words[2] = 1;
  CHECK(first.known_hash() == third.stack.chain.hash(3));
  third.stack.words[2] = 1;
  CHECK_FALSE(first.knows(first.leaf()));
  second.stack.words[2] = 0;
  CHECK(first.known_hash() == second.stack.chain.hash(3));
}

TEST_CASE("the stack that was found last is the first to be asked for") {
  MemoOfStack first;
  StackElsewhere second(0x5000);
  for (int i = 0; i < 2; ++i) first.come_by();
  for (int i = 0; i < 2; ++i) second.come_by(first);
  second.stack.words[2] = 1;
  CHECK(first.memo.find_latest(first.leaf(), kSerial) == nullptr);
  const RememberedStack* other = first.memo.find_other(first.leaf(), kSerial);
  REQUIRE(other != nullptr);
  CHECK(first.memo.find_latest(first.leaf(), kSerial) == other);
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
    for (std::size_t i = 0; i < 2; ++i) {
      noted.words[i] = {.address = reinterpret_cast<std::uintptr_t>(&words[2 * frames - 2 + i]),
                        .value = 0};
    }
    noted.step.word_count = 2;
    chain.push(noted, true);
    for (int i = 0; i < 2; ++i) memo.learn(noted.frame, kSerial, chain);
    CHECK((memo.find_latest(noted.frame, kSerial) != nullptr) == (frames < kFrames));
  }
  chain.release();
}
