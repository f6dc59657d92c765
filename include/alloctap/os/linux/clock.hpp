/// Clocks by clock_gettime(2), and thread usage by getrusage(2).
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <cstdint>

#include "alloctap/os/clock.hpp"

namespace alloctap::os {

inline std::int64_t read_clock(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline std::int64_t monotonic_ns() noexcept { return read_clock(CLOCK_MONOTONIC); }

inline std::int64_t coarse_monotonic_ns() noexcept { return read_clock(CLOCK_MONOTONIC_COARSE); }

inline std::int64_t thread_cpu_ns() noexcept { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

inline std::int64_t wall_clock_ns() noexcept { return read_clock(CLOCK_REALTIME); }

inline constexpr bool kCountsThreadUsage = true;

inline bool read_thread_usage(ThreadUsage& usage) noexcept {
  rusage used{};
  if (::getrusage(RUSAGE_THREAD, &used) != 0) return false;
  usage.page_faults = static_cast<std::uint64_t>(used.ru_minflt + used.ru_majflt);
  usage.waits = static_cast<std::uint64_t>(used.ru_nvcsw);
  usage.preemptions = static_cast<std::uint64_t>(used.ru_nivcsw);
  return true;
}

}  // namespace alloctap::os
