#pragma once

#include "alloctap/os/thread_usage.hpp"

namespace alloctap::os {

/// The system counts page faults of processes alone, and those of other threads explain nothing.
inline bool read_thread_usage(ThreadUsage&) noexcept { return false; }

}  // namespace alloctap::os
