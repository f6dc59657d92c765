/// Chooses the allocations that get a guard page.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "alloctap/check/check_settings.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// A per-thread countdown to the next sampled block, as in GWP-ASan. The distance between samples
/// is random, up to twice the mean. Periodic allocation patterns therefore do not hide blocks. Runs
/// inside malloc. An unsampled block costs one subtraction.
class GuardSampler {
 public:
  /// Fast path: counts the calling thread's next block. Returns true if no check applies to the
  /// block. If false, call `is_due`.
  ALLOCTAP_ALWAYS_INLINE static bool passes_over() noexcept {
    std::int32_t& left = this_thread_slot().until_guarded;
    if (left <= 1) return false;
    --left;
    return true;
  }

  /// Returns whether the calling thread's next block is sampled, at a rate of one in `one_in` (0:
  /// never). If `asks_each` (other checks apply to every block), `passes_over` returns false.
  static bool is_due(std::uint32_t one_in, bool asks_each) noexcept {
    if (one_in <= 1) return one_in == 1;
    std::int32_t& left = this_thread_slot().until_guarded;
    if (left > 1 || left < -1) {
      left += left > 0 ? -1 : 1;
      return false;
    }
    const bool is_first = left == 0;
    left = draw(one_in);
    if (asks_each) left = -left;
    return !is_first;
  }

  static bool is_due(const CheckSettings& settings) noexcept {
    return is_due(settings.guard_pages, settings.touches_all());
  }

  /// Returns a random number that differs between calls and runs. Thread-safe.
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
  ALLOCTAP_NOINLINE static std::int32_t draw(std::uint32_t one_in) noexcept {
    const std::uint64_t most = std::uint64_t{std::min(one_in, kMaxCount)} * 2 - 1;
    return static_cast<std::int32_t>(1 + random() % most);
  }

  static constexpr std::uint32_t kMaxCount = std::uint32_t{1} << 30;
  static inline constinit std::atomic<std::uint64_t> state_{0x243F6A8885A308D3};
};

}  // namespace alloctap
