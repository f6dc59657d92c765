/// Clocks in nanoseconds, and the resource usage of the calling thread.
///
/// Every function may run inside malloc, the clocks also inside a signal handler.
#pragma once

#include <cstdint>

namespace alloctap::os {

/// Returns the time since an arbitrary start. The clock never goes back.
std::int64_t monotonic_ns() noexcept;

/// Returns the time of `monotonic_ns`. On some systems, is cheaper but some milliseconds late.
std::int64_t coarse_monotonic_ns() noexcept;

/// Returns the CPU time that the calling thread has used.
std::int64_t thread_cpu_ns() noexcept;

/// Returns the time since the Unix epoch, UTC.
std::int64_t wall_clock_ns() noexcept;

/// Counters since the thread began. Only differences are meaningful.
struct ThreadUsage {
  /// Minor and major page faults.
  std::uint64_t page_faults = 0;
  /// Voluntary context switches, such as waits for locks and devices.
  std::uint64_t waits = 0;
  /// Involuntary context switches.
  std::uint64_t preemptions = 0;
  /// CPU time in nanoseconds, in steps of up to `kProcessorTimeStep`. Set only if the system has no
  /// per-thread counters.
  std::int64_t processor_ns = 0;
};

/// Maximum interval, in nanoseconds, between updates of a running thread's CPU time.
inline constexpr std::int64_t kProcessorTimeStep = 16'000'000;

/// Reads the calling thread's usage. Returns false if the system has no data. Costs some 100 ns.
/// errno may change. The constant `kCountsThreadUsage` is true if this function sets the counters,
/// false if it sets only `processor_ns`.
bool read_thread_usage(ThreadUsage& usage) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/clock.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/clock.hpp"
#else
#error "alloctap/os/clock.hpp has no implementation for this system"
#endif
