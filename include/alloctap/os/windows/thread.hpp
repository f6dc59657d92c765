#pragma once

#include <algorithm>
#include <cstddef>

#include "alloctap/os/thread.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/handle.hpp"
#include "alloctap/os/windows/process_barrier.hpp"
#include "alloctap/os/windows/thread_block.hpp"
#include "alloctap/os/windows/utf8.hpp"

namespace alloctap::os {

inline ThreadId current_thread_id() noexcept {
  return static_cast<ThreadId>(::GetCurrentThreadId());
}

inline ProcessId current_process_id() noexcept {
  return static_cast<ProcessId>(::GetCurrentProcessId());
}

inline constexpr bool kThreadPointerFollowsStack = true;

/// Returns the address of the last word of the current thread's or fiber's stack. Not the TEB,
/// because that is not on the stack.
inline std::uintptr_t thread_pointer() noexcept { return stack_end(*thread_block()); }

inline std::uintptr_t thread_storage() noexcept {
  return reinterpret_cast<std::uintptr_t>(thread_block());
}

/// Opens a thread of this process. Returns an empty handle if the thread does not exist.
inline Handle open_thread(ThreadId id, DWORD access) noexcept {
  Handle thread(
      ::OpenThread(access | THREAD_QUERY_LIMITED_INFORMATION, FALSE, static_cast<DWORD>(id)));
  if (!thread || ::GetProcessIdOfThread(thread.get()) != ::GetCurrentProcessId()) return Handle();
  return thread;
}

inline bool thread_is_alive(ThreadId id) noexcept {
  const Handle thread = open_thread(id, SYNCHRONIZE);
  return thread && ::WaitForSingleObject(thread.get(), 0) == WAIT_TIMEOUT;
}

/// Queries the kernel, because GetThreadDescription allocates.
inline std::size_t thread_name(ThreadId id, std::span<char> name) noexcept {
  // This constant is missing from the compiler's headers.
  using Query = NTSTATUS NTAPI(HANDLE, int, void*, ULONG, ULONG*);
  const auto query = reinterpret_cast<Query*>(reinterpret_cast<void*>(&::NtQueryInformationThread));
  constexpr int kThreadNameInformation = 38;
  struct Answer {
    UNICODE_STRING name;
    wchar_t text[256];
  } answer{};
  const Handle thread = open_thread(id, 0);
  if (!thread) return 0;
  ULONG bytes = 0;
  const NTSTATUS status =
      query(thread.get(), kThreadNameInformation, &answer, sizeof answer, &bytes);
  if (status < 0) return 0;
  return to_utf8({answer.name.Buffer, answer.name.Length / sizeof(wchar_t)}, name).size();
}

inline bool enable_process_wide_barrier() noexcept { return has_process_barrier(); }

inline void process_wide_barrier() noexcept { ::FlushProcessWriteBuffers(); }

}  // namespace alloctap::os
