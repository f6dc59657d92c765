/// This process's own allocations, every stack of which is captured twice.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "alloctap/macros.hpp"
#include "alloctap/session.hpp"
#include "tests/support/comparing_stack.hpp"

namespace alloctap::testing {

/// Compares what unwind tables say of each allocation's stack with what the compiler's unwinder
/// says, while it lives.
class ComparedRun {
 public:
  explicit ComparedRun(std::uint32_t max_frames = 256);

  /// What was counted since its beginning.
  [[nodiscard]] static StackComparison so_far();

  /// Ends it. There were at least `captures`, all of them equal.
  StackComparison check_equal(std::uint64_t captures);

  /// The same, and no stack ended before its outermost frame.
  StackComparison check_whole(std::uint64_t captures);

 private:
  Session session_;
};

/// Keeps the compiler from knowing what a value is good for, and the call before it from becoming a
/// jump.
template <class T>
ALLOCTAP_ALWAYS_INLINE T escape(T value) {
  __asm__ volatile("" : "+r"(value) : : "memory");
  return value;
}
ALLOCTAP_ALWAYS_INLINE void stay() { __asm__ volatile("" ::: "memory"); }

/// One capture, of the stack that leads here.
ALLOCTAP_NOINLINE inline void allocate() {
  std::free(escape(std::malloc(24)));
  stay();
}

/// The same numbers in every run.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  /// Below `end`.
  std::uint64_t next(std::uint64_t end) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 33U) % end;
  }

 private:
  std::uint64_t state_;
};

}  // namespace alloctap::testing
