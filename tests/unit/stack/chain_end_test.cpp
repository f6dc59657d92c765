// What lies outside the outermost frame is known again by the words that told it.
#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/stack/stack_cache.hpp"
#include "tests/unit/stack/kept_chain.hpp"
#include "tests/unit/stack/stack_model.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

constexpr std::size_t kMaxKept = KeptChain::kMaxCount;
constexpr std::array kEndsByZero{ModelFunctions::kFixed, ModelFunctions::kFixedSaving,
                                 ModelFunctions::kByPointer};
/// In a function that is the outermost: a stack that goes on to it ends there.
constexpr std::uintptr_t kFurtherOut =
    (1 + ModelFunctions::kOutermost) * ModelFunctions::kBytes + 2;

/// A model some calls deep, and the chain of it.
struct EndOfStack {
  EndOfStack(ModelFunctions::Kind outermost, std::size_t calls) : model(5, outermost) {
    for (std::size_t i = 0; i < calls; ++i) model.call();
    walk();
  }

  void walk() { REQUIRE(kept.walk(model, kMaxKept) == UnwindOutcome::kCaller); }
  /// All frames, leaf first.
  [[nodiscard]] std::vector<std::uintptr_t> seen() const { return kept.innermost(kMaxKept); }
  std::uintptr_t& zero() { return model.word_at(model.outermost_return_place()); }

  StackModel model;
  KeptChain kept;
};

}  // namespace

TEST_CASE("a stack that ends at a return address of 0 is walked over once") {
  for (const auto outermost : kEndsByZero) {
    CAPTURE(outermost);
    EndOfStack stack(outermost, 20);
    CHECK(stack.kept.walked_over == 21);
    CHECK(stack.kept.chain.end_is_sure());
    stack.walk();
    CHECK(stack.kept.walked_over == 0);
    stack.model.leave(3);
    stack.model.call();
    stack.walk();
    // The new one, and the one that it was called from, at another place.
    CHECK(stack.kept.walked_over <= 2);
    CHECK(stack.seen() == stack.model.truth());
  }
}

TEST_CASE("a return address in the place of the 0 is seen from any depth, and the 0 again") {
  for (const auto outermost : kEndsByZero) {
    for (const std::size_t calls : {0U, 1U, 2U, 5U, 30U}) {
      CAPTURE(outermost);
      CAPTURE(calls);
      EndOfStack stack(outermost, calls);
      const auto truth = stack.model.truth();
      auto longer = truth;
      longer.push_back(kFurtherOut);
      for (int i = 0; i < 3; ++i) {
        stack.zero() = kFurtherOut;
        stack.walk();
        CHECK(stack.seen() == longer);
        CHECK(stack.kept.chain.hash(calls + 1) == hash_frames(longer));
        stack.zero() = 0;
        stack.walk();
        CHECK(stack.seen() == truth);
        CHECK(stack.kept.chain.hash(calls) == hash_frames(truth));
        stack.walk();
        CHECK(stack.kept.walked_over == 0);
      }
    }
  }
}

TEST_CASE("a frame pointer saved beside the 0 decides nothing") {
  EndOfStack stack(ModelFunctions::kFixedSaving, 4);
  stack.model.word_at(stack.model.outermost_return_place() - 8) += 8;
  stack.walk();
  CHECK(stack.kept.walked_over == 0);
}

TEST_CASE("a frame pointer that leads to the 0 matters") {
  EndOfStack stack(ModelFunctions::kByPointer, 0);
  UnwindFrame leaf = stack.model.leaf();
  leaf.fp += 16;
  stack.model.word_at(leaf.fp + 8) = kFurtherOut;
  REQUIRE(stack.kept.walk(stack.model, leaf, kMaxKept) == UnwindOutcome::kCaller);
  CHECK(stack.seen() == std::vector{leaf.pc, kFurtherOut});
  stack.walk();
  CHECK(stack.seen() == stack.model.truth());
}

TEST_CASE("a memo of a stack that ends at a return address of 0 looks at that, too") {
  constexpr std::uint64_t kSerial = 3;
  for (const auto outermost : kEndsByZero) {
    EndOfStack stack(outermost, 6);
    StackCache memo;
    const UnwindFrame leaf = stack.model.leaf();
    for (int i = 0; i < 2; ++i) memo.learn(leaf, kSerial, stack.kept.chain);
    CHECK(memo.find_expected(leaf, kSerial) != nullptr);
    stack.zero() = kFurtherOut;
    CHECK(memo.find_expected(leaf, kSerial) == nullptr);
    stack.zero() = 0;
    CHECK(memo.find_expected(leaf, kSerial) != nullptr);
  }
}

namespace {

/// Two functions, 1 and 5, whose CFA is in a word below their frame pointer; all others are
/// outermost.
struct RealignedRules {
  static constexpr bool kPointerDecides = false;
  [[nodiscard]] UnwindRule find(const UnwindFrame& frame) const noexcept {
    ++*asked;
    if (frame.pc == 1 || frame.pc == 5) {
      return {
          .cfa_offset = -8, .fp_slot = 0, .return_slot = -1, .kind = UnwindRule::Kind::kRealigned};
    }
    return {.kind = UnwindRule::Kind::kOutermost};
  }
  [[nodiscard]] static bool is_code(std::uintptr_t) noexcept { return false; }

  std::size_t* asked;
};

}  // namespace

TEST_CASE("each word that led to the 0 is looked at") {
  std::array<std::uintptr_t, 16> words{};
  const auto at = [&](std::size_t i) { return reinterpret_cast<std::uintptr_t>(&words[i]); };
  const os::StackBounds bounds{.low = at(0), .high = at(0) + sizeof words};
  const UnwindFrame leaf{.pc = 1, .sp = at(0), .fp = at(4)};
  words[3] = at(10);
  words[11] = 2;
  KeptChain kept;
  const auto walk = [&] {
    std::size_t asked = 0;
    const RealignedRules rules{.asked = &asked};
    ChainWalk<RealignedRules> walking(kept.chain, kept.walked, bounds, kMaxKept, rules);
    REQUIRE(walking.walk_from(leaf) == UnwindOutcome::kCaller);
    return asked;
  };
  for (int i = 0; i < 3; ++i) {
    CHECK(walk() == 1);
    CHECK(walk() == 0);
    words[4] ^= 16;
    CHECK(walk() == 0);
    words[3] = at(12);
    CHECK(walk() == 2);
    CHECK(kept.innermost(kMaxKept) == std::vector<std::uintptr_t>{1, 2});
    words[3] = at(10);
    CHECK(walk() == 1);
    words[9] = 3;
    CHECK(walk() == 2);
    CHECK(kept.innermost(kMaxKept) == std::vector<std::uintptr_t>{1, 3});
    words[9] = 0;
  }
}

TEST_CASE("a CFA in a word is refused where it is further in, or the end of the stack") {
  std::array<std::uintptr_t, 16> words{};
  const auto at = [&](std::size_t i) { return reinterpret_cast<std::uintptr_t>(&words[i]); };
  const os::StackBounds bounds{.low = at(0), .high = at(0) + sizeof words};
  KeptChain kept;
  const auto walk = [&](const UnwindFrame& leaf) {
    std::size_t asked = 0;
    const RealignedRules rules{.asked = &asked};
    return ChainWalk<RealignedRules>(kept.chain, kept.walked, bounds, kMaxKept, rules)
        .walk_from(leaf);
  };
  const UnwindFrame leaf{.pc = 1, .sp = at(0), .fp = at(4)};
  words[3] = at(10);
  words[9] = 2;
  CHECK(walk(leaf) == UnwindOutcome::kCaller);
  // Its caller's CFA lies outside of the leaf, but inside of the caller.
  words[9] = 5;
  words[4] = at(8);
  words[7] = at(6);
  words[5] = 2;
  CHECK(walk(leaf) == UnwindOutcome::kBroken);
  words[7] = at(12);
  words[11] = 2;
  CHECK(walk(leaf) == UnwindOutcome::kCaller);
  words[3] = bounds.high;
  words[15] = 2;
  CHECK(walk(leaf) == UnwindOutcome::kBroken);
  words[3] = at(10);
  CHECK(walk({.pc = 1, .sp = at(0) + 4, .fp = at(4)}) == UnwindOutcome::kBroken);
}
