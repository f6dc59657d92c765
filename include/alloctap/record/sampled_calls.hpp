/// What a thread counts while a policy samples.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/arch/own_counter.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/record/allocation_totals.hpp"

namespace alloctap {

/// What a thread counts of its calls while a policy samples: all of them, recorded or not. Written
/// by its thread alone, which need not be in a recording section; others may read the numbers at
/// any time.
class SampledCalls {
 public:
  /// For a thread that has allocated nothing yet. `countdown` is lowered by `count_skipped` alone
  /// or on the thread's behalf; it outlives this. `generation` is that of the `ThreadState`.
  void begin(std::uint64_t& countdown, std::uint32_t generation) noexcept {
    countdown_ = &countdown;
    last_ = nullptr;
    generation_ = generation;
  }

  /// Whether `begin` was called for the thread that the `ThreadState` belongs to.
  [[nodiscard]] bool has_begun(std::uint32_t generation) const noexcept {
    return countdown_ != nullptr && generation_ == generation;
  }

  /// Counts an allocation that the countdown lets pass, and lowers it; false, and nothing counted,
  /// where it does not. Every one of no bytes is stopped.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool count_skipped(const void* block,
                                                          std::uint64_t bytes) noexcept {
    // Read once: a signal handler of this thread that counts in between must not make it wrap.
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

  /// The allocation that was counted last is one of the samples.
  void note_sample() noexcept { last_ = mark_of_sample(last_); }

  /// Counts the free of `block`, which is not null, if it is what the thread allocated last and no
  /// sample: a temporary allocation, as in `LastAllocation`. Else it counts nothing, and is false.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool count_skipped_temporary(const void* block) noexcept {
    if (last_ != block) return false;
    last_ = nullptr;
    arch::add_to_own(temporary_, 1);
    return true;
  }

  /// Counts the free of a block that is not that.
  ALLOCTAP_ALWAYS_INLINE void count_lasting() noexcept { arch::add_to_own(lasting_, 1); }
  void uncount_lasting() noexcept { arch::add_to_own(lasting_, ~std::uint64_t{0}); }

  /// Counts `block`, whose free was counted as that of a lasting one, as a temporary one if that is
  /// what it is, sample or not; whether it is.
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

  /// No block's address, so that its free is told apart by the question that is asked anyway.
  static const void* mark_of_sample(const void* block) noexcept {
    return reinterpret_cast<const void*>(~reinterpret_cast<std::uintptr_t>(block));
  }

  Counter allocations_{0};
  Counter allocated_bytes_{0};
  /// Frees of blocks that were not the last that their thread had allocated.
  Counter lasting_{0};
  Counter temporary_{0};
  const void* last_ = nullptr;
  std::uint64_t* countdown_ = nullptr;
  std::uint32_t generation_ = 0;
};

}  // namespace alloctap
