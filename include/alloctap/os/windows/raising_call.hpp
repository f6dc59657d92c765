/// Calls of functions that may not return: an exception of Windows' own that is caught further out
/// takes their callers' frames away, and no destructor of C++ runs.
///
/// Sources: "x64 exception handling" (Microsoft), "Language-specific handler"; GNU as, "SEH".
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// What is to be done where a call does not return. It runs when the frames go, innermost first, on
/// the thread that made the call; it may use what is on the stack.
struct CallCleanup {
  void (*run)(CallCleanup& self) noexcept = nullptr;
};

}  // namespace alloctap::os

extern "C" {
/// Calls `function` with the four words at `arguments` and returns what it returns.
void* alloctap_call_with_cleanup(const void* function, const std::uintptr_t* arguments,
                                 alloctap::os::CallCleanup* cleanup);

/// The handler of that frame; `frame` is its stack pointer.
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

// In a section of its own, of which the linker keeps one: every source file has it, and where they
// are optimized at link time several stand in one text for the assembler. A return address right
// before an epilogue counts as in it, where handlers are not asked: so there is a nop.
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

/// `function(arguments...)`, of up to four arguments that are numbers or pointers. Where it does
/// not return, `cleanup` runs.
template <class... Parameters, class... Arguments>
void* call_with_cleanup(CallCleanup& cleanup, void* (*function)(Parameters...),
                        Arguments... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments) && sizeof...(Parameters) <= 4);
  const std::uintptr_t words[4] = {as_word(static_cast<Parameters>(arguments))...};
  return alloctap_call_with_cleanup(reinterpret_cast<const void*>(function), words, &cleanup);
}

}  // namespace alloctap::os
