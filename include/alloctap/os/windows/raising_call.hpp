/// Calls of functions that may raise an SEH exception, with a cleanup for that case.
///
/// If an outer frame catches the exception, frames in between are unwound without C++ destructors.
/// Sources: "x64 exception handling" (Microsoft), "Language-specific handler"; GNU as, "SEH".
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// A function to run if an exception unwinds a call. Runs on the calling thread, innermost call
/// first, while the exception unwinds. The stack's contents are still valid.
struct CallCleanup {
  void (*run)(CallCleanup& self) noexcept = nullptr;
};

}  // namespace alloctap::os

extern "C" {
/// Calls `function` with the four words at `arguments` and returns its result.
void* alloctap_call_with_cleanup(const void* function, const std::uintptr_t* arguments,
                                 alloctap::os::CallCleanup* cleanup);

/// Exception handler of `alloctap_call_with_cleanup`; `frame` is its stack pointer.
ALLOCTAP_CALLED_BY_ASSEMBLER inline int alloctap_clean_up_call(EXCEPTION_RECORD* exception,
                                                               std::byte* frame, CONTEXT*,
                                                               void*) noexcept {
  constexpr DWORD kUnwinding = 2 | 4;
  constexpr std::size_t kPlaceOfCleanup = 40;
  constexpr int kContinueSearch = 1;
  if ((exception->ExceptionFlags & kUnwinding) != 0) {
    auto* const cleanup =
        *reinterpret_cast<alloctap::os::CallCleanup* const*>(frame + kPlaceOfCleanup);
    cleanup->run(*cleanup);
  }
  return kContinueSearch;
}
}

// The function is in a link-once section, because every source file defines it. Uses .ifndef,
// because LTO may put several copies in one assembler text. The nop separates the return address
// from the epilogue, in which handlers are not called.
#if defined(__x86_64__)
ALLOCTAP_ASM(R"(
  .ifndef alloctap_call_with_cleanup
  .section .text$alloctap_call_with_cleanup, "xr"
  .linkonce discard
  .globl alloctap_call_with_cleanup
  .def alloctap_call_with_cleanup; .scl 2; .type 32; .endef
  .seh_proc alloctap_call_with_cleanup
alloctap_call_with_cleanup:
  subq $56, %rsp
  .seh_stackalloc 56
  .seh_endprologue
  movq %r8, 40(%rsp)
  movq %rcx, %rax
  movq %rdx, %r10
  movq (%r10), %rcx
  movq 8(%r10), %rdx
  movq 16(%r10), %r8
  movq 24(%r10), %r9
  call *%rax
  nop
  addq $56, %rsp
  ret
  .seh_handler alloctap_clean_up_call, @unwind
  .seh_endproc
  .text
  .endif
)");
#else
#error "alloctap/os/windows/raising_call.hpp does not know this architecture"
#endif

namespace alloctap::os {

inline std::uintptr_t as_word(std::uintptr_t number) noexcept { return number; }
inline std::uintptr_t as_word(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

/// Calls `function` with up to four numbers or pointers. Runs `cleanup` if the call raises an
/// exception and does not return.
template <class... Parameters, class... Arguments>
void* call_with_cleanup(CallCleanup& cleanup, void* (*function)(Parameters...),
                        Arguments... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments) && sizeof...(Parameters) <= 4);
  const std::uintptr_t words[4] = {as_word(static_cast<Parameters>(arguments))...};
  return alloctap_call_with_cleanup(reinterpret_cast<const void*>(function), words, &cleanup);
}

}  // namespace alloctap::os
