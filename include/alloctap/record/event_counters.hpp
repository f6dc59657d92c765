/// How often something happened.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/arch/own_counter.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// How often something happened since the start, but for what is counted per stack.
struct EventCounters {
  /// While no policy samples.
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  /// Known blocks given back.
  std::uint64_t deallocations = 0;
  std::uint64_t unmatched_frees = 0;
  /// Blocks found gone because their address was handed out again: their free was not seen.
  std::uint64_t unseen_frees = 0;
  /// Events and records lost because the system had no memory for them.
  std::uint64_t dropped = 0;
  /// Captured stacks whose walk ended before the outermost frame.
  std::uint64_t failed_unwinds = 0;
  /// Captured stacks that pass code without unwind tables, by its frame pointers.
  std::uint64_t frame_pointer_unwinds = 0;
  /// Captured stacks that were deeper than the limit on frames.
  std::uint64_t truncated_stacks = 0;

  constexpr EventCounters& operator+=(const EventCounters& other) noexcept {
    allocations += other.allocations;
    allocated_bytes += other.allocated_bytes;
    deallocations += other.deallocations;
    unmatched_frees += other.unmatched_frees;
    unseen_frees += other.unseen_frees;
    dropped += other.dropped;
    failed_unwinds += other.failed_unwinds;
    frame_pointer_unwinds += other.frame_pointer_unwinds;
    truncated_stacks += other.truncated_stacks;
    return *this;
  }
};

/// What a thread counts of its calls while no policy samples. Written by its thread alone; others
/// may read the numbers at any time, and do so in the order in which they ask.
class RecordedCalls {
 public:
  ALLOCTAP_ALWAYS_INLINE void count_allocation(std::uint64_t bytes) noexcept {
    arch::add_to_own(allocations_, 1);
    arch::add_to_own(allocated_bytes_, bytes);
  }

  /// A known block was given back.
  ALLOCTAP_ALWAYS_INLINE void count_deallocation() noexcept { arch::add_to_own(deallocations_, 1); }
  void uncount_deallocation() noexcept { arch::add_to_own(deallocations_, ~std::uint64_t{0}); }

  [[nodiscard]] std::uint64_t allocations() const noexcept { return get(allocations_); }
  [[nodiscard]] std::uint64_t allocated_bytes() const noexcept { return get(allocated_bytes_); }
  [[nodiscard]] std::uint64_t deallocations() const noexcept { return get(deallocations_); }

 private:
  using Counter = std::atomic<std::uint64_t>;

  static std::uint64_t get(const Counter& counter) noexcept {
    return counter.load(std::memory_order_acquire);
  }

  Counter allocations_{0};
  Counter allocated_bytes_{0};
  Counter deallocations_{0};
};

}  // namespace alloctap
