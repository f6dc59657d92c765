// Where Windows keeps what is one thread's (TEB). The layout is the one that winternl.h states.
#pragma once

#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// The calling thread's block, as NtCurrentTeb says. Where it optimizes, g++ 12 warns of what
/// mingw-w64's headers make of that.
ALLOCTAP_ALWAYS_INLINE TEB* thread_block() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  TEB* block = nullptr;
  ALLOCTAP_ASM volatile("movq %%gs:0x30, %0" : "=r"(block));
  return block;
#else
  return ::NtCurrentTeb();
#endif
}

/// The last word of the stack that the thread of `block` is on.
inline std::uintptr_t stack_end(const TEB& block) noexcept {
  const auto& thread = reinterpret_cast<const NT_TIB&>(block);
  return reinterpret_cast<std::uintptr_t>(thread.StackBase) - sizeof(void*);
}

}  // namespace alloctap::os
