// A memo, and stacks that come from one frame.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "alloctap/stack/stack_cache.hpp"
#include "tests/unit/stack/chain_of_words.hpp"

namespace alloctap::testing {

/// A memo and a stack of four frames.
struct MemoOfStack {
  static constexpr std::uint64_t kSerial = 7;

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
  StackCache memo;
};

/// The same frames, but for the outermost function, which was called from elsewhere.
struct StackElsewhere {
  explicit StackElsewhere(std::uintptr_t caller) {
    NotedFrame outermost;
    outermost.frame = {.pc = caller, .sp = 0x9000, .fp = 0x7000};
    stack.chain.push(outermost, true);
    for (std::size_t i = 1; i < 4; ++i) stack.push(i, true);
  }

  void come_by(MemoOfStack& other) {
    other.memo.learn(other.leaf(), MemoOfStack::kSerial, stack.chain);
  }

  ChainOfWords stack{0};
};

/// As many as are kept for one frame.
using StacksElsewhere = std::array<std::optional<StackElsewhere>, StackCache::kStacks>;

}  // namespace alloctap::testing
