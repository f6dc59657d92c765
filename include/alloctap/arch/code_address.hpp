/// A place in the code of a function, for architectures where a frame record alone does not tell
/// where its caller's frame begins.
#pragma once

#include <cstdint>

#include "alloctap/macros.hpp"

namespace alloctap::arch {

#if defined(__x86_64__) && defined(_WIN32)

/// There are no frame records: a frame pointer points anywhere into its function's frame. The
/// unwind rule of a place in the function leads to the caller from the registers that it has there.
struct CodeAddress {
  std::uintptr_t address = 0;
  std::uintptr_t stack_pointer = 0;
  std::uintptr_t frame_pointer = 0;
};

/// The place that this is folded into.
ALLOCTAP_ALWAYS_INLINE CodeAddress this_place() noexcept {
  CodeAddress place;
  ALLOCTAP_ASM volatile(
      "movq %%rbp, %2\n\t"
      "movq %%rsp, %1\n\t"
      "leaq 0f(%%rip), %0\n"
      "0:" : "=r"(place.address),
      "=r"(place.stack_pointer), "=r"(place.frame_pointer));
  return place;
}

#elif defined(__x86_64__)

/// A frame record lies right below the caller's frame (`stack_pointer_of_caller`), so nobody asks.
struct CodeAddress {};

/// The place that this is folded into.
ALLOCTAP_ALWAYS_INLINE CodeAddress this_place() noexcept { return {}; }

#elif defined(__aarch64__)

/// A frame record lies anywhere in its function's frame: the unwind rule of a place in the function
/// says how far from the caller's.
struct CodeAddress {
  std::uintptr_t address = 0;
};

/// The place that this is folded into.
ALLOCTAP_ALWAYS_INLINE CodeAddress this_place() noexcept {
  CodeAddress place;
  ALLOCTAP_ASM volatile("adr %0, ." : "=r"(place.address));
  return place;
}

#else
#error "alloctap/arch/code_address.hpp does not know this architecture"
#endif

}  // namespace alloctap::arch
