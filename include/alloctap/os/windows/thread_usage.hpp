#pragma once

#include <cstdint>

#include "alloctap/os/thread_usage.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

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
