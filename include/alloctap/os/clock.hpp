/// Clocks in nanoseconds. May run inside malloc and inside a signal handler.
#pragma once

#include <cstdint>

namespace alloctap::os {

/// Returns the time since an arbitrary start. The clock never goes back.
std::int64_t monotonic_ns() noexcept;

/// Returns the time of `monotonic_ns`. May be cheaper, but advance only every few milliseconds.
std::int64_t coarse_monotonic_ns() noexcept;

/// Returns the CPU time that the calling thread has used.
std::int64_t thread_cpu_ns() noexcept;

/// Returns the time since the Unix epoch, UTC.
std::int64_t wall_clock_ns() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/clock.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/clock.hpp"
#else
#error "alloctap/os/clock.hpp has no implementation for this system"
#endif
