/// Threads by Windows calls: identifiers, names, enumeration, workers, process-wide barrier.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "alloctap/os/thread.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/errors.hpp"
#include "alloctap/os/windows/thread_local.hpp"
#include "alloctap/os/windows/wide_path.hpp"

namespace alloctap::os {

inline bool is_wine() noexcept {
  const HMODULE system = ::GetModuleHandleW(L"ntdll.dll");
  return ::GetProcAddress(system, "wine_get_version") != nullptr;
}

/// Returns true if FlushProcessWriteBuffers is a process-wide barrier: it interrupts all processors
/// that run this process, and a return from an interrupt serializes. Returns false in Wine, where
/// it has no effect as of Wine 8.
inline bool has_process_barrier() noexcept { return !is_wine(); }

}  // namespace alloctap::os

// System calls of ntdll.dll that exist since Windows Vista, but not in the compiler's headers.

extern "C" {
/// Returns in `next` the thread after `thread` in `process`, or the first one if `thread` is null.
NTSTATUS NTAPI NtGetNextThread(HANDLE process, HANDLE thread, ACCESS_MASK access, ULONG attributes,
                               ULONG flags, HANDLE* next);
NTSTATUS NTAPI NtSuspendThread(HANDLE thread, ULONG* count_before);
NTSTATUS NTAPI NtResumeThread(HANDLE thread, ULONG* count_before);
NTSTATUS NTAPI NtGetContextThread(HANDLE thread, CONTEXT* context);
}

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

/// Returns true if a stop failed with the status `why` because the thread has ended. In Wine, the
/// status is only an access error.
inline bool has_ended(HANDLE thread, NTSTATUS why) noexcept {
  constexpr NTSTATUS kIsEnding = static_cast<NTSTATUS>(0xC000004B);
  return why == kIsEnding || ::WaitForSingleObject(thread, 0) == WAIT_OBJECT_0;
}

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
  // ThreadNameInformation is missing from the compiler's headers.
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

inline void* run_worker(void* thread) noexcept {
  const auto& worker = *static_cast<const WorkerThread*>(thread);
  worker.body_(worker.argument_);
  return nullptr;
}

inline DWORD WINAPI worker_entry(void* thread) noexcept {
  run_worker(thread);
  return 0;
}

/// Blocks no signals, because Windows has none.
inline int WorkerThread::start(void (*body)(void*) noexcept, void* argument) noexcept {
  body_ = body;
  argument_ = argument;
  const HANDLE thread = ::CreateThread(nullptr, 0, &worker_entry, this, 0, nullptr);
  handle_ = reinterpret_cast<std::uintptr_t>(thread);
  running_ = thread != nullptr;
  return running_ ? 0 : negated_last_error();
}

inline void WorkerThread::join() noexcept {
  if (!running_) return;
  const auto thread = reinterpret_cast<HANDLE>(static_cast<std::uintptr_t>(handle_));
  ::WaitForSingleObject(thread, INFINITE);
  ::CloseHandle(thread);
  running_ = false;
}

}  // namespace alloctap::os
