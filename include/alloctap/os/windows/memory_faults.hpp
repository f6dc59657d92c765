/// Memory faults by a vectored exception handler, which runs before frame-based handlers.
#pragma once

#include <atomic>

#include "alloctap/os/memory_faults.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

inline LONG CALLBACK handle_memory_fault(EXCEPTION_POINTERS* exception) noexcept {
  const EXCEPTION_RECORD& record = *exception->ExceptionRecord;
  constexpr DWORD kWords = 2;
  if (record.ExceptionCode != EXCEPTION_ACCESS_VIOLATION || record.NumberParameters < kWords) {
    return EXCEPTION_CONTINUE_SEARCH;
  }
  constexpr ULONG_PTR kRead = 0;
  constexpr ULONG_PTR kWrite = 1;
  const ULONG_PTR access = record.ExceptionInformation[0];
  const MemoryFault fault{.address = static_cast<std::uintptr_t>(record.ExceptionInformation[1]),
                          .code = reinterpret_cast<std::uintptr_t>(record.ExceptionAddress),
                          .access = access == kWrite  ? FaultAccess::kWrite
                                    : access == kRead ? FaultAccess::kRead
                                                      : FaultAccess::kUnknown};
  const DWORD error = ::GetLastError();
  const FaultVerdict verdict = ask_fault_listeners(fault);
  ::SetLastError(error);
  return verdict == FaultVerdict::kRetry ? EXCEPTION_CONTINUE_EXECUTION : EXCEPTION_CONTINUE_SEARCH;
}

/// Installs the handler in front of existing vectored handlers.
inline bool catch_memory_faults(FaultListener listener) noexcept {
  static constinit std::atomic<bool> installed{false};
  if (!add_fault_listener(listener)) return false;
  if (installed.exchange(true)) return true;
  constexpr ULONG kFirst = 1;
  return ::AddVectoredExceptionHandler(kFirst, &handle_memory_fault) != nullptr;
}

}  // namespace alloctap::os
