/// Which allocations get a guard page.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/guard/reentrancy_guard.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"

namespace alloctap {

/// Each thread counts down to its next one. The distance is random, up to twice the mean, so that a
/// program with a period of its own has all of its blocks chosen at some time (GWP-ASan's way).
/// Runs inside malloc; one subtraction where a block is not chosen.
class GuardSampler {
 public:
  /// Counts the calling thread's next block where it is surely none of those, of which there is one
  /// in `one_in`; else `is_due` is to be asked of it.
  ALLOCTAP_ALWAYS_INLINE static bool passes_over(std::uint32_t one_in) noexcept {
    if (one_in <= 1) return one_in == 0;
    std::uint32_t& left = this_thread_slot().until_guarded;
    if (left <= 1) return false;
    --left;
    return true;
  }

  /// Whether the calling thread's next block is one of those, of which there is one in `one_in`; 0
  /// for none.
  static bool is_due(std::uint32_t one_in) noexcept {
    if (passes_over(one_in)) return false;
    return one_in == 1 || draw(this_thread_slot().until_guarded, one_in);
  }

  /// Different in each call and each run. Thread-safe.
  [[nodiscard]] static std::uint64_t random() noexcept {
    // SplitMix64 (Steele, Lea, Flood 2014).
    constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15;
    const auto now = static_cast<std::uint64_t>(os::coarse_monotonic_ns());
    std::uint64_t mixed = state_.fetch_add(kStep, std::memory_order_relaxed) ^ now;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
  }

 private:
  ALLOCTAP_NOINLINE static bool draw(std::uint32_t& left, std::uint32_t one_in) noexcept {
    const bool is_first = left == 0;
    const std::uint64_t most = std::uint64_t{one_in} * 2 - 1;
    left = static_cast<std::uint32_t>(1 + random() % most);
    return !is_first;
  }

  static inline constinit std::atomic<std::uint64_t> state_{0x243F6A8885A308D3};
};

}  // namespace alloctap
