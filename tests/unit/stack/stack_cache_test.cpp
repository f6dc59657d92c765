#include "alloctap/stack/stack_cache.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/support/exhausted_arena.hpp"
#include "tests/unit/stack/chain_of_words.hpp"
#include "tests/unit/stack/memo_of_stack.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::ChainOfWords;
using alloctap::testing::MemoOfStack;
using alloctap::testing::StackElsewhere;
using alloctap::testing::StacksElsewhere;

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

TEST_CASE("a stack whose walk failed is known as such") {
  for (const ChainEnd end : {ChainEnd::kFailed, ChainEnd::kOutermost}) {
    MemoOfStack twice;
    twice.stack.begin_at(end, 0);
    for (std::size_t i = 0; i < 4; ++i) twice.stack.push(i, true);
    for (int i = 0; i < 2; ++i) twice.come_by();
    const RememberedStack* known = twice.find(twice.leaf());
    REQUIRE(known != nullptr);
    CHECK(known->stack.failed == (end == ChainEnd::kFailed));
  }
}

TEST_CASE("a stack that has come once is not known under any number") {
  MemoOfStack once;
  once.come_by();
  for (const std::uint64_t serial : {std::uint64_t{0}, MemoOfStack::kSerial, ~std::uint64_t{1}}) {
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
  CHECK_FALSE(twice.knows(twice.leaf(), MemoOfStack::kSerial + 1));
  CHECK(twice.knows(twice.leaf()));
}

TEST_CASE("a function is not known elsewhere on the stack, whatever is there") {
  for (std::uintptr_t function = 0; function < 16; ++function) {
    MemoOfStack twice;
    UnwindFrame leaf = twice.leaf();
    leaf.pc += 0x100 * function;
    for (int i = 0; i < 2; ++i) twice.memo.learn(leaf, MemoOfStack::kSerial, twice.stack.chain);
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
  for (std::size_t i = 0; i < 2 * StackCache::kStacks; ++i) distant->come_by(first);
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

TEST_CASE("a stack with more words than there is room for is left to the chain") {
  constexpr std::size_t kFrames = StackCache::kMaxWords / 2 + 1;
  std::vector<std::uintptr_t> words(2 * kFrames);
  CachedFrameChain chain;
  REQUIRE(chain.reserve(kFrames));
  StackCache memo;
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
    for (int i = 0; i < 2; ++i) memo.learn(noted.frame, MemoOfStack::kSerial, chain);
    CHECK((memo.find_expected(noted.frame, MemoOfStack::kSerial) != nullptr) == (frames < kFrames));
  }
  chain.release();
}
