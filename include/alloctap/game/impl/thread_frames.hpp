/// Definitions for game/thread_frames.hpp.
#pragma once

#include "alloctap/game/thread_frames.hpp"

namespace alloctap {

ALLOCTAP_INLINE std::uint64_t TypicalLatency::estimate(std::uint64_t taken,
                                                       std::uint64_t weight) noexcept {
  if (weight == 1) return taken;
  if (ns == 0) ns = std::clamp<std::uint64_t>(taken, 1, kFirstAtMost);
  const bool is_usual = taken <= kMuchLonger * ns;
  // Exponential moving average with weight 1/8. `std::min` keeps one sample from more than doubling
  // the mean. Adding 7 rounds up, so that small means can grow.
  ns = (7 * ns + std::min(taken, 9 * ns) + 7) / 8;
  return is_usual ? taken * weight : taken;
}

ALLOCTAP_INLINE void FrameTiming::end(ThreadFrames& thread, const TimedCall& timed,
                                      TagId tag) noexcept {
  const std::int64_t taken = os::monotonic_ns() - timed.begin_ns - clock_cost_ns();
  SlowCall call{.duration_ns = std::max<std::int64_t>(taken, 1),
                .bytes = timed.bytes,
                .tag = tag,
                .call = timed.call};
  if (timed.has_usage) add_usage(call, timed.usage);
  const auto ns =
      thread.usual_time.estimate(static_cast<std::uint64_t>(call.duration_ns), timed.weight);
  thread.spend(tag, ns);
  thread.pending = call;
  thread.pending_ns = ns;
  if (timed.call == AllocatorCall::kFree) settle(thread, thread.gone_stack, timed.bytes);
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void FrameTiming::settle(ThreadFrames& thread, StackId stack,
                                                           std::size_t bytes) noexcept {
  SlowCall call = std::exchange(thread.pending, SlowCall{});
  // If the timed call's block was not recorded, the block of `bytes` is another call's.
  if (call.bytes != bytes) return;
  call.stack = stack;
  const FrameNumber frame = thread.totals.frame.load(std::memory_order_relaxed);
  if (stack != kNoStackId) thread.stacks.count_time(frame, stack, thread.pending_ns);
  const bool is_first = thread.slowest_frame.load(std::memory_order_relaxed) != frame;
  if (!is_first && thread.slowest.load().duration_ns >= call.duration_ns) return;
  thread.slowest.store(call);
  thread.slowest_frame.store(frame, std::memory_order_release);
}

ALLOCTAP_INLINE void FrameTiming::add_usage(SlowCall& call,
                                            const os::ThreadUsage& before) noexcept {
  os::ThreadUsage now;
  if (!os::read_thread_usage(now)) return;
  if constexpr (os::kCountsThreadUsage) {
    call.has_usage = true;
    call.page_faults = static_cast<std::uint32_t>(now.page_faults - before.page_faults);
    call.waits = static_cast<std::uint32_t>(now.waits - before.waits);
    call.preemptions = static_cast<std::uint32_t>(now.preemptions - before.preemptions);
  } else {
    call.waits = has_waited(call.duration_ns, now.processor_ns - before.processor_ns) ? 1 : 0;
  }
}

}  // namespace alloctap
