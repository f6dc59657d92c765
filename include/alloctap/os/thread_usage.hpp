/// Resource usage of the calling thread.
#pragma once

#include <cstdint>

namespace alloctap::os {

/// Counters since the thread began. Only differences are meaningful.
struct ThreadUsage {
  /// Minor and major page faults.
  std::uint64_t page_faults = 0;
  /// Voluntary context switches: waits for locks and devices.
  std::uint64_t waits = 0;
  /// Involuntary context switches.
  std::uint64_t preemptions = 0;
  /// CPU time in nanoseconds, set if the system has no per-thread counters. Resolution: up to
  /// `kProcessorTimeStep`.
  std::int64_t processor_ns = 0;
};

/// Interval in nanoseconds after which the CPU time of a running thread has advanced.
inline constexpr std::int64_t kProcessorTimeStep = 16'000'000;

/// Reads the calling thread's usage. Returns false if the system has no data. Inside malloc; errno
/// may change. Costs some 100 ns. `kCountsThreadUsage`: whether all fields but `processor_ns` are
/// set.
bool read_thread_usage(ThreadUsage& usage) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/thread_usage.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/thread_usage.hpp"
#else
#error "alloctap/os/thread_usage.hpp has no implementation for this system"
#endif
