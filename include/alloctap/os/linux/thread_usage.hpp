#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "alloctap/os/thread_usage.hpp"

namespace alloctap::os {

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
