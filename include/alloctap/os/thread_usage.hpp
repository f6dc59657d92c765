/// What the calling thread has used up so far, as far as the system tells.
#pragma once

#include <cstdint>

namespace alloctap::os {

/// Numbers since the thread began; only differences mean something.
struct ThreadUsage {
  /// Pages that were there and had to be mapped for the thread, and pages that had to be read.
  std::uint64_t page_faults = 0;
  /// How many times it waited: for a lock, for a device.
  std::uint64_t waits = 0;
  /// How many times the system gave its processor to another thread.
  std::uint64_t preemptions = 0;
  /// How long it had a processor, in nanoseconds: what is told where the system counts nothing of
  /// the above. In steps of up to `kProcessorTimeStep`.
  std::int64_t processor_ns = 0;
};

/// A thread that runs all the time has a step more at least each time so many nanoseconds go by.
inline constexpr std::int64_t kProcessorTimeStep = 16'000'000;

/// False where the system does not tell. May run inside malloc; errno may change. A system call:
/// some hundred nanoseconds. `kCountsThreadUsage` is whether it counts, or tells `processor_ns`.
bool read_thread_usage(ThreadUsage& usage) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/thread_usage.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/thread_usage.hpp"
#else
#error "alloctap/os/thread_usage.hpp has no implementation for this system"
#endif
