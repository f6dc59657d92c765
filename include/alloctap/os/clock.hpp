/// Time, in nanoseconds. May run inside malloc and inside a signal handler.
#pragma once

#include <cstdint>

namespace alloctap::os {

/// Since an arbitrary start; never goes back.
std::int64_t monotonic_ns() noexcept;

/// As `monotonic_ns`, but told in steps of some milliseconds, and so at a fraction of the cost.
std::int64_t coarse_monotonic_ns() noexcept;

/// What the calling thread has had of a processor; stands still while others have it.
std::int64_t thread_cpu_ns() noexcept;

/// Since the Unix epoch, UTC.
std::int64_t wall_clock_ns() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/clock.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/clock.hpp"
#else
#error "alloctap/os/clock.hpp has no implementation for this system"
#endif
