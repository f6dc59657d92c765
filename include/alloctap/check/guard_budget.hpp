/// How many blocks of a sample may take the time that a guard page costs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace alloctap {

/// A sample of one block in N is made for programs that allocate half a million blocks a second; of
/// those that allocate more no more are taken, so a sample costs the same share of the time at
/// most, whatever a program does. What was not taken for a quarter of a second may be made up for
/// at once, as at the start: so programs that run for a moment have their sample, too.
///
/// The generic cell rate algorithm (ITU-T I.371, Annex A): the time is kept at which the next block
/// would come if all were evenly apart. Thread-safe, takes no lock; runs inside malloc.
/// Constant-initialized.
class GuardBudget {
 public:
  constexpr GuardBudget() noexcept = default;

  /// Whether one more of a sample of one in `one_in` may be had at `now_ns`, of a clock that starts
  /// anywhere and never goes back; it is taken. Of all blocks (1) each may.
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

  /// How often it said no.
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

  /// In ns from the earliest time. Initially 0, so that a static budget takes no room in files.
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace alloctap
