// FlushProcessWriteBuffers promises the order of memory alone, and Wine's does nothing in
// version 8. So every other thread is stopped for a moment, one after the other: it goes on by a
// return from the system, which serializes.
#pragma once

#include "alloctap/os/core_synchronization.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/handle.hpp"
#include "alloctap/os/windows/system_calls.hpp"
#include "alloctap/os/windows/thread_list.hpp"

namespace alloctap::os {

/// Stops `thread` and lets it go on. True also where it is about to end. Between the two nothing
/// but system calls: the thread may hold any lock.
inline bool stop_for_a_moment(HANDLE thread) noexcept {
  NTSTATUS status = ::NtSuspendThread(thread, nullptr);
  if (status < 0) return has_ended(thread, status);
  // The call before only asks for it; this one waits until it stands.
  CONTEXT context;
  context.ContextFlags = CONTEXT_CONTROL;
  status = ::NtGetContextThread(thread, &context);
  ::NtResumeThread(thread, nullptr);
  return status >= 0 || has_ended(thread, status);
}

/// A thread that is made meanwhile starts by a return from the system, too.
inline bool synchronize_cores() noexcept {
  bool stopped_all = true;
  visit_threads([&](const Handle& thread) { stopped_all &= stop_for_a_moment(thread.get()); });
  return stopped_all;
}

}  // namespace alloctap::os
