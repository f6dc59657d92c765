/// The time that a frame spends inside the allocator.
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

/// What reading the clock adds to a time that is taken, in nanoseconds. Inside malloc.
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

/// Whether a thread that had a processor for `processor_ns` of `duration_ns` did not for the most
/// part. One that ran all the time has half of it to its account at least, however the steps lie.
constexpr bool has_waited(std::int64_t duration_ns, std::int64_t processor_ns) noexcept {
  return duration_ns >= os::kProcessorTimeStep && processor_ns * 2 < duration_ns;
}

/// Which calls of a thread have their time taken: each large one, with what the thread used up
/// meanwhile, which costs a system call or two; and of the others one in `kTimedOneIn`, by chance,
/// which stands for all of them (`TypicalLatency`). Small, for thread-local storage; begins as
/// zeros.
struct TimedCalls {
  /// Calls that are not large until the time of one is taken, and the state of the dice for that.
  std::uint32_t until_timed;
  std::uint32_t dice;
  /// Of the block that is about to be freed.
  std::size_t gone_bytes;

  /// Whether the time of this call is taken; `bytes` become those of the block of a free.
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

  /// Begins with one whose time is taken.
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
  /// From 1 to 127, all as probable, so that no rhythm of the program's is met.
  std::uint32_t next_distance() noexcept {
    if (dice == 0) dice = static_cast<std::uint32_t>(os::monotonic_ns()) | 1;
    // Marsaglia, "Xorshift RNGs", 2003.
    dice ^= dice << 13;
    dice ^= dice >> 17;
    dice ^= dice << 5;
    return 1 + (dice >> 8) % (2 * kTimedOneIn - 1);
  }
};

/// What becomes of the time of calls. Runs inside malloc, on the thread that it is about.
struct FrameTiming {
  /// `tag`: what the thread is doing.
  static void end(ThreadFrames& thread, const TimedCall& timed, TagId tag) noexcept;

  /// A block of `bytes` has come to the thread, or gone, by a call of which it may have taken the
  /// time; `stack` is the block's.
  static void settle(ThreadFrames& thread, StackId stack, std::size_t bytes) noexcept;

 private:
  static void add_usage(SlowCall& call, const os::ThreadUsage& before) noexcept;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/frame_timing.hpp"
#endif
