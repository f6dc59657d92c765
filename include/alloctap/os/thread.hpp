/// Kernel identifiers and names of threads, and the process-wide memory barrier.
///
/// Every function may run inside malloc and inside a signal handler. errno may change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace alloctap::os {

using ThreadId = std::int32_t;
using ProcessId = std::int32_t;

ThreadId current_thread_id() noexcept;
ProcessId current_process_id() noexcept;

/// Returns an address that identifies the calling thread. glibc and musl place it above the
/// outermost frame, in the stack's mapping, except for the main thread. On Windows it lies on the
/// stack of every thread and fiber. `kThreadPointerFollowsStack`, a constant of every system, is
/// true there.
std::uintptr_t thread_pointer() noexcept;

/// Returns a per-thread address at a fixed distance from the thread's `ThreadLocal` objects.
std::uintptr_t thread_storage() noexcept;

/// Returns whether the thread `id` of this process exists. Ids are reused, so only false is a
/// permanent result.
bool thread_is_alive(ThreadId id) noexcept;

/// Copies the name of the thread `id` of this process to `name`, cut to its size. Returns its
/// length; 0 if no such thread exists or the system has no name.
std::size_t thread_name(ThreadId id, std::span<char> name) noexcept;

/// Registers the process for `process_wide_barrier`. Returns false if the system does not support
/// it.
bool enable_process_wide_barrier() noexcept;

/// Executes a full memory barrier on every thread of the process before it returns. Precondition:
/// `enable_process_wide_barrier()` returned true.
void process_wide_barrier() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/thread.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/thread.hpp"
#else
#error "alloctap/os/thread.hpp has no implementation for this system"
#endif
