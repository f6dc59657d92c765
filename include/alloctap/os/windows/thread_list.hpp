/// Enumeration of the threads of this process.
#pragma once

#include <utility>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/handle.hpp"
#include "alloctap/os/windows/system_calls.hpp"

namespace alloctap::os {

/// Calls `visit(Handle&)` for each other thread, with a handle that permits to stop the thread and
/// read its registers. `visit` may move the handle away to keep it.
template <class Visit>
void visit_threads(Visit&& visit) noexcept {
  constexpr ACCESS_MASK kAccess =
      THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT | THREAD_QUERY_INFORMATION | SYNCHRONIZE;
  const DWORD self = ::GetCurrentThreadId();
  Handle last;
  HANDLE at = nullptr;
  HANDLE next = nullptr;
  while (::NtGetNextThread(::GetCurrentProcess(), at, kAccess, 0, 0, &next) >= 0) {
    Handle thread(next);
    at = next;
    if (::GetThreadId(next) != self) visit(thread);
    // The next step needs this handle open. A visitor that moved the handle away keeps it open.
    last = std::move(thread);
  }
}

/// Returns true if the stop failed because the thread has ended. Wine reports only an access error.
inline bool has_ended(HANDLE thread, NTSTATUS why) noexcept {
  constexpr NTSTATUS kIsEnding = static_cast<NTSTATUS>(0xC000004B);
  return why == kIsEnding || ::WaitForSingleObject(thread, 0) == WAIT_OBJECT_0;
}

}  // namespace alloctap::os
