/// Core serialization by stopping all other threads briefly, one after the other, because a return
/// from the kernel serializes. Not FlushProcessWriteBuffers, which guarantees only memory order and
/// does nothing in Wine 8.
#pragma once

#include "alloctap/os/core_synchronization.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/handle.hpp"
#include "alloctap/os/windows/system_calls.hpp"
#include "alloctap/os/windows/thread_list.hpp"

namespace alloctap::os {

/// Suspends and resumes `thread`. Returns true if that worked or the thread is ending. Makes only
/// system calls in between, because the thread may hold any lock.
inline bool stop_for_a_moment(HANDLE thread) noexcept {
  NTSTATUS status = ::NtSuspendThread(thread, nullptr);
  if (status < 0) return has_ended(thread, status);
  // NtSuspendThread is asynchronous; this call waits until the thread has stopped.
  CONTEXT context;
  context.ContextFlags = CONTEXT_CONTROL;
  status = ::NtGetContextThread(thread, &context);
  ::NtResumeThread(thread, nullptr);
  return status >= 0 || has_ended(thread, status);
}

/// Ignores threads created meanwhile, because they start by a return from the kernel.
inline bool synchronize_cores() noexcept {
  bool stopped_all = true;
  visit_threads([&](const Handle& thread) { stopped_all &= stop_for_a_moment(thread.get()); });
  return stopped_all;
}

}  // namespace alloctap::os
