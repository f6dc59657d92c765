/// Names of threads and processes as the kernel knows them, and the process-wide barrier.
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

/// An address that is each thread's own. Of threads with a stack of their own, glibc and musl put
/// it above the outermost frame, in the same mapping; that of the main thread is elsewhere. On
/// Windows it is there for the main thread too, and for each fiber: there
/// `kThreadPointerFollowsStack`, a constant of every system, is true.
std::uintptr_t thread_pointer() noexcept;

/// An address that is each thread's own, from which a `ThreadLocal` is as far as it is in every
/// other thread.
std::uintptr_t thread_storage() noexcept;

/// Whether the thread `id` of this process still exists. A dead thread's id may be given to a new
/// one, so only "no" is a lasting answer.
bool thread_is_alive(ThreadId id) noexcept;

/// Copies the name of the thread `id` of this process to `name`, cut to its size, and returns its
/// length; 0 where there is no such thread, or the system does not tell.
std::size_t thread_name(ThreadId id, std::span<char> name) noexcept;

/// Asks the system for `process_wide_barrier`; false where it has none.
bool enable_process_wide_barrier() noexcept;

/// Every thread of the process executes a full memory barrier before this returns.
/// Precondition: `enable_process_wide_barrier()` returned true.
void process_wide_barrier() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/thread.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/thread.hpp"
#else
#error "alloctap/os/thread.hpp has no implementation for this system"
#endif
