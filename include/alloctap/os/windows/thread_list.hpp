/// The threads of this process.
#pragma once

#include <utility>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/handle.hpp"
#include "alloctap/os/windows/system_calls.hpp"

namespace alloctap::os {

/// Calls `visit(Handle&)` for each other thread of the process, with what stopping and reading it
/// takes; it may keep the handle.
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
    // A caller that keeps a handle keeps it open for the next step, too.
    last = std::move(thread);
  }
}

/// Whether that is why a thread could not be stopped. Wine says only that it is not allowed.
inline bool has_ended(HANDLE thread, NTSTATUS why) noexcept {
  constexpr NTSTATUS kIsEnding = static_cast<NTSTATUS>(0xC000004B);
  return why == kIsEnding || ::WaitForSingleObject(thread, 0) == WAIT_OBJECT_0;
}

}  // namespace alloctap::os
