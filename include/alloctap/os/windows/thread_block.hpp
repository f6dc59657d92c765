/// The thread environment block (TEB). Layout: winternl.h.
#pragma once

#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// Returns the calling thread's TEB. Does not call mingw-w64's NtCurrentTeb, because an optimizing
/// GCC 12 warns about that function.
ALLOCTAP_ALWAYS_INLINE TEB* thread_block() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  TEB* block = nullptr;
  ALLOCTAP_ASM volatile("movq %%gs:0x30, %0" : "=r"(block));
  return block;
#else
  return ::NtCurrentTeb();
#endif
}

/// Returns the address of the last word of the stack that the thread of `block` runs on.
inline std::uintptr_t stack_end(const TEB& block) noexcept {
  const auto& thread = reinterpret_cast<const NT_TIB&>(block);
  return reinterpret_cast<std::uintptr_t>(thread.StackBase) - sizeof(void*);
}

}  // namespace alloctap::os
