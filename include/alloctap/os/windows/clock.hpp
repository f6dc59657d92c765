/// Clocks by QueryPerformanceCounter and FILETIME, and thread usage by GetThreadTimes.
#pragma once

#include <cstdint>

#include "alloctap/os/clock.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

inline std::int64_t monotonic_ns() noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  LARGE_INTEGER count;
  LARGE_INTEGER frequency;
  ::QueryPerformanceCounter(&count);
  ::QueryPerformanceFrequency(&frequency);
  const std::int64_t seconds = count.QuadPart / frequency.QuadPart;
  const std::int64_t rest = count.QuadPart % frequency.QuadPart;
  return seconds * kSecond + rest * kSecond / frequency.QuadPart;
}

/// `monotonic_ns` makes no system call. GetTickCount64 is cheaper, but has another time base.
inline std::int64_t coarse_monotonic_ns() noexcept { return monotonic_ns(); }

/// The resolution is that of the system clock, several milliseconds.
inline std::int64_t thread_cpu_ns() noexcept {
  FILETIME created;
  FILETIME ended;
  FILETIME kernel{};
  FILETIME user{};
  ::GetThreadTimes(::GetCurrentThread(), &created, &ended, &kernel, &user);
  const auto steps = [](const FILETIME& time) {
    return static_cast<std::int64_t>(std::uint64_t{time.dwHighDateTime} << 32 | time.dwLowDateTime);
  };
  return (steps(kernel) + steps(user)) * 100;
}

inline std::int64_t wall_clock_ns() noexcept {
  // Units of 100 ns between the epochs of FILETIME (1601) and Unix (1970).
  constexpr std::int64_t kUnixEpoch = 116'444'736'000'000'000;
  FILETIME now;
  ::GetSystemTimePreciseAsFileTime(&now);
  const std::uint64_t steps = std::uint64_t{now.dwHighDateTime} << 32 | now.dwLowDateTime;
  return (static_cast<std::int64_t>(steps) - kUnixEpoch) * 100;
}

/// False, because Windows counts page faults only per process.
inline constexpr bool kCountsThreadUsage = false;

inline std::int64_t nanoseconds_of(const FILETIME& time) noexcept {
  constexpr std::int64_t kUnit = 100;
  return ((static_cast<std::int64_t>(time.dwHighDateTime) << 32) | time.dwLowDateTime) * kUnit;
}

inline bool read_thread_usage(ThreadUsage& usage) noexcept {
  FILETIME begin;
  FILETIME end;
  FILETIME kernel;
  FILETIME user;
  if (::GetThreadTimes(::GetCurrentThread(), &begin, &end, &kernel, &user) == 0) return false;
  usage.processor_ns = nanoseconds_of(kernel) + nanoseconds_of(user);
  return true;
}

}  // namespace alloctap::os
