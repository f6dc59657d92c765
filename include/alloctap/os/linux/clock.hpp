#pragma once

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

}  // namespace alloctap::os
