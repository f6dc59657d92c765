/// Measurement of the time that a game frame spends in the allocator.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "alloctap/event/allocator_call.hpp"
#include "alloctap/game/thread_frames.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/os/thread_usage.hpp"
#include "alloctap/snapshot/frame_history.hpp"

namespace alloctap {

/// Returns the time, in nanoseconds, that reading the clock adds to a measured duration. May run
/// inside malloc.
inline std::int64_t clock_cost_ns() noexcept {
  static constinit std::atomic<std::int64_t> known{-1};
  std::int64_t cost = known.load(std::memory_order_relaxed);
  if (cost >= 0) return cost;
  cost = 1'000;
  for (int i = 0; i < 32; ++i) {
    const std::int64_t begin = os::monotonic_ns();
    cost = std::min(cost, os::monotonic_ns() - begin);
  }
  known.store(cost, std::memory_order_relaxed);
  return cost;
}

/// Returns true if the thread was off the processor for most of `duration_ns`. Processor time
/// advances in coarse steps: it may show only half of the time that a thread ran.
constexpr bool has_waited(std::int64_t duration_ns, std::int64_t processor_ns) noexcept {
  return duration_ns >= os::kProcessorTimeStep && processor_ns * 2 < duration_ns;
}

/// Selects which allocator calls of a thread are timed. Every large call is timed; reading the
/// thread's resource usage for it costs a system call or two. Of the small calls, one in
/// `kTimedOneIn` is chosen at random and represents the others (`TypicalLatency`).
/// Zero-initialized; small, because thread-local.
struct TimedCalls {
  /// Number of small calls before the next sample, and state of the random generator.
  std::uint32_t until_timed;
  std::uint32_t dice;
  /// Size of the block that is about to be freed.
  std::size_t gone_bytes;

  /// Returns true if this call is to be timed. For a free, stores the block's size in `bytes`.
  ALLOCTAP_ALWAYS_INLINE bool takes(AllocatorCall call, std::size_t& bytes) noexcept {
    if (call != AllocatorCall::kAllocate) {
      const std::size_t gone = std::exchange(gone_bytes, 0);
      if (call == AllocatorCall::kFree) bytes = gone;
    }
    if (bytes >= kLargeCallBytes || until_timed <= 1) [[unlikely]] {
      return true;
    }
    --until_timed;
    return false;
  }

  /// Starts the timing of a call.
  void begin(AllocatorCall call, std::size_t bytes, TimedCall& timed) noexcept {
    timed = {.weight = 1, .call = call, .bytes = bytes};
    if (bytes >= kLargeCallBytes) {
      timed.has_usage = os::read_thread_usage(timed.usage);
    } else {
      timed.weight = kTimedOneIn;
      until_timed = next_distance();
    }
    timed.begin_ns = os::monotonic_ns();
  }

 private:
  /// Returns a uniform random number from 1 to 127. Random, because a fixed interval could match a
  /// pattern of the program's calls.
  std::uint32_t next_distance() noexcept {
    if (dice == 0) dice = static_cast<std::uint32_t>(os::monotonic_ns()) | 1;
    // Marsaglia, "Xorshift RNGs", 2003.
    dice ^= dice << 13;
    dice ^= dice >> 17;
    dice ^= dice << 5;
    return 1 + (dice >> 8) % (2 * kTimedOneIn - 1);
  }
};

/// Attributes measured durations to tags and stacks. Runs inside malloc, on the timed thread.
struct FrameTiming {
  /// Ends the timing of a call; `tag` is the thread's current tag.
  static void end(ThreadFrames& thread, const TimedCall& timed, TagId tag) noexcept;

  /// Attributes the duration of the last timed call to `stack`, which allocated the block that the
  /// call returned or freed. Does nothing if the call's block has another size than `bytes`.
  static void settle(ThreadFrames& thread, StackId stack, std::size_t bytes) noexcept;

 private:
  static void add_usage(SlowCall& call, const os::ThreadUsage& before) noexcept;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/frame_timing.hpp"
#endif
