/// Limits the rate at which sampled blocks get guard pages.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace alloctap {

/// Limits how many sampled blocks get guard pages to the rate of a program with 500,000 allocations
/// per second. Programs that allocate faster get no more guard pages, so that the cost of guard
/// pages is bounded. Unused budget accumulates for 250 ms, or for 64 blocks if that takes longer. A
/// process starts with a full budget, so that short programs are sampled too.
///
/// Implements the generic cell rate algorithm (ITU-T I.371, Annex A), which stores the earliest
/// time of the next block at an even rate. Lock-free; runs inside malloc. Constant-initialized.
class GuardBudget {
 public:
  constexpr GuardBudget() noexcept = default;

  /// Takes the budget for one block. `one_in` is the sampling rate; a rate of 1 always succeeds.
  /// Returns false if the budget is exhausted. `now_ns` is monotonic time with any epoch.
  [[nodiscard]] bool take(std::uint32_t one_in, std::int64_t now_ns) noexcept {
    if (one_in <= 1) return true;
    const std::int64_t apart = std::int64_t{one_in} * kNsPerAllocation;
    const std::int64_t oldest = now_ns - std::max(kMadeUpNs, apart * kLeastAtOnce);
    std::uint64_t next = next_.load(std::memory_order_relaxed);
    std::int64_t taken = 0;
    do {
      taken = std::max(time_of(next), oldest);
      if (taken > now_ns) {
        refused_.fetch_add(1, std::memory_order_relaxed);
        return false;
      }
    } while (!next_.compare_exchange_weak(next, from_earliest(taken + apart),
                                          std::memory_order_relaxed));
    return true;
  }

  /// Returns how often `take` returned false.
  [[nodiscard]] std::uint64_t refused() const noexcept {
    return refused_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::int64_t kNsPerAllocation = 2000;
  static constexpr std::int64_t kMadeUpNs = 250'000'000;
  static constexpr std::int64_t kLeastAtOnce = 64;

  static std::uint64_t from_earliest(std::int64_t time_ns) noexcept {
    return static_cast<std::uint64_t>(time_ns) - static_cast<std::uint64_t>(INT64_MIN);
  }
  static std::int64_t time_of(std::uint64_t from_earliest_ns) noexcept {
    return static_cast<std::int64_t>(from_earliest_ns + static_cast<std::uint64_t>(INT64_MIN));
  }

  /// Earliest time of the next block, as nanoseconds since INT64_MIN. Its initial value is 0, so
  /// that a static budget lies in .bss.
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace alloctap
