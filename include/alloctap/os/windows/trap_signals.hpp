/// Traps by a vectored exception handler, which runs before the frame-based handlers of a thread.
#pragma once

#include <atomic>

#include "alloctap/os/trap_signals.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

inline constinit std::atomic<ResumePlace> resume_place{nullptr};

/// Handles a trap. The system reports the address of the trapping instruction itself, even for a
/// breakpoint.
inline LONG CALLBACK handle_trap(EXCEPTION_POINTERS* exception) noexcept {
  const DWORD code = exception->ExceptionRecord->ExceptionCode;
  if (code != EXCEPTION_BREAKPOINT && code != EXCEPTION_ILLEGAL_INSTRUCTION) {
    return EXCEPTION_CONTINUE_SEARCH;
  }
  const auto place = reinterpret_cast<std::uintptr_t>(exception->ExceptionRecord->ExceptionAddress);
  const std::uintptr_t next = resume_place.load(std::memory_order_acquire)(place);
  if (next == 0) return EXCEPTION_CONTINUE_SEARCH;
  exception->ContextRecord->Rip = next;
  return EXCEPTION_CONTINUE_EXECUTION;
}

/// Installs the handler in front of existing vectored handlers. A handler that the program installs
/// in front later runs first, and passes on the exceptions that it does not handle.
inline bool catch_traps(ResumePlace resume) noexcept {
  static constinit bool installed = false;
  resume_place.store(resume, std::memory_order_release);
  constexpr ULONG kFirst = 1;
  if (!installed) installed = ::AddVectoredExceptionHandler(kFirst, &handle_trap) != nullptr;
  return installed;
}

}  // namespace alloctap::os
