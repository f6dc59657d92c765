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

/// Returns an address that identifies the calling thread. glibc and musl place it in the mapping of
/// the stack, above the outermost frame, except for the main thread. On Windows each stack has
/// another such address, also of fibers; there the constant `kThreadPointerFollowsStack` is true.
std::uintptr_t thread_pointer() noexcept;

/// Returns an address at a fixed distance from each of the calling thread's `ThreadLocal` objects.
std::uintptr_t thread_storage() noexcept;

/// Returns true if the thread `id` of this process exists. Ids are reused: only false is permanent.
bool thread_is_alive(ThreadId id) noexcept;

/// Copies the name of the thread `id` of this process to `name`, cut to the size of `name`. Returns
/// the name's length; 0 if the thread does not exist or has no name.
std::size_t thread_name(ThreadId id, std::span<char> name) noexcept;

/// Registers the process for `process_wide_barrier`. Returns false if the system lacks barriers.
bool enable_process_wide_barrier() noexcept;

/// Executes a full memory barrier on every thread of the process before it returns. Precondition:
/// `enable_process_wide_barrier()` has returned true.
void process_wide_barrier() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/thread.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/thread.hpp"
#else
#error "alloctap/os/thread.hpp has no implementation for this system"
#endif
