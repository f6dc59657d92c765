/// Per-thread call counters for sessions that sample.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/arch/own_counter.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/record/allocation_totals.hpp"

namespace alloctap {

/// Exact counts of one thread's calls, whether sampled or not. Only that thread writes them, inside
/// malloc, even outside recording scopes. Other threads may read the numbers at any time.
class SampledCalls {
 public:
  /// Initializes the counters of a thread that has not allocated yet. `countdown` must outlive the
  /// counters; only `count_skipped` and the policy decrease it. `generation` is
  /// `ThreadState::generation`.
  void begin(std::uint64_t& countdown, std::uint32_t generation) noexcept {
    countdown_ = &countdown;
    last_ = nullptr;
    generation_ = generation;
  }

  /// Returns whether `begin` was called for the current owner of the `ThreadState`.
  [[nodiscard]] bool has_begun(std::uint32_t generation) const noexcept {
    return countdown_ != nullptr && generation_ == generation;
  }

  /// Counts an unsampled allocation and subtracts its size from the countdown. Returns false
  /// without effect if `bytes` is 0 or exceeds the countdown.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool count_skipped(const void* block,
                                                          std::uint64_t bytes) noexcept {
    // Loads once: if a signal handler subtracted between two loads, the subtraction would wrap.
    const std::atomic_ref countdown(*countdown_);
    const std::uint64_t left = countdown.load(std::memory_order_relaxed);
    if (bytes - 1 >= left) [[unlikely]] {
      return false;
    }
    countdown.store(left - bytes, std::memory_order_relaxed);
    count_allocation(block, bytes);
    return true;
  }

  ALLOCTAP_ALWAYS_INLINE void count_allocation(const void* block, std::uint64_t bytes) noexcept {
    arch::add_to_own(allocations_, 1);
    arch::add_to_own(allocated_bytes_, bytes);
    last_ = block;
  }

  /// Marks the last counted allocation as sampled.
  void note_sample() noexcept { last_ = mark_of_sample(last_); }

  /// Counts the free of `block` (not null) as temporary if `block` is the thread's last allocation
  /// (`LastAllocation`) and unsampled. Otherwise returns false without effect.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool count_skipped_temporary(const void* block) noexcept {
    if (last_ != block) return false;
    last_ = nullptr;
    arch::add_to_own(temporary_, 1);
    return true;
  }

  /// Counts the free of a block that is not the thread's last allocation.
  ALLOCTAP_ALWAYS_INLINE void count_lasting() noexcept { arch::add_to_own(lasting_, 1); }
  void uncount_lasting() noexcept { arch::add_to_own(lasting_, ~std::uint64_t{0}); }

  /// Counts a free as temporary instead of lasting if `block` is the thread's last allocation,
  /// whether sampled or not. Otherwise returns false without effect.
  bool count_temporary(const void* block) noexcept {
    if (last_ != block && last_ != mark_of_sample(block)) return false;
    last_ = nullptr;
    arch::add_to_own(temporary_, 1);
    uncount_lasting();
    return true;
  }

  void forget_last() noexcept { last_ = nullptr; }

  [[nodiscard]] AllocationTotals totals() const noexcept {
    return {.allocations = get(allocations_),
            .allocated_bytes = get(allocated_bytes_),
            .temporary_allocations = get(temporary_)};
  }
  [[nodiscard]] std::uint64_t deallocations() const noexcept {
    return get(lasting_) + get(temporary_);
  }

 private:
  using Counter = std::atomic<std::uint64_t>;

  static std::uint64_t get(const Counter& counter) noexcept {
    return counter.load(std::memory_order_relaxed);
  }

  /// Returns the complement of a sampled block's address. The complement equals no block's address,
  /// so comparing `last_` with a block also rejects samples.
  static const void* mark_of_sample(const void* block) noexcept {
    return reinterpret_cast<const void*>(~reinterpret_cast<std::uintptr_t>(block));
  }

  Counter allocations_{0};
  Counter allocated_bytes_{0};
  /// Frees of blocks that were not their thread's last allocation.
  Counter lasting_{0};
  Counter temporary_{0};
  const void* last_ = nullptr;
  std::uint64_t* countdown_ = nullptr;
  std::uint32_t generation_ = 0;
};

}  // namespace alloctap
