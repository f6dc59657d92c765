/// Detects hardware shadow stacks, which check returns against a separate stack.
///
/// x86-64: Intel SDM, "RDSSP", which is a no-op without a shadow stack. AArch64: Arm ARM,
/// "CHKFEAT", bit 0 (guarded control stack), which is a no-op on older processors.
#pragma once

#include <cstdint>

#include "alloctap/macros.hpp"

namespace alloctap::arch {

/// Returns whether the calling thread has a shadow stack. Runs inside malloc.
inline bool has_shadow_stack() noexcept {
#if defined(__x86_64__)
  std::uintptr_t pointer = 0;
  // rdsspq %rax, encoded as bytes because older assemblers do not know the instruction.
  ALLOCTAP_ASM volatile(".byte 0xF3, 0x48, 0x0F, 0x1E, 0xC8" : "+a"(pointer));
  return pointer != 0;
#elif defined(__aarch64__)
  register std::uintptr_t is_off ALLOCTAP_ASM("x16") = 1;
  // chkfeat x16: clears the bits of enabled features.
  ALLOCTAP_ASM volatile("hint #40" : "+r"(is_off));
  return is_off == 0;
#else
#error "alloctap/arch/shadow_stack.hpp does not know this architecture"
#endif
}

}  // namespace alloctap::arch
