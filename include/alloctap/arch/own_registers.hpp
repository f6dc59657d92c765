/// Captures the calling function's registers, to start an unwind.
#pragma once

#include <array>
#include <cstdint>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/macros.hpp"

namespace alloctap::arch {

/// Register values by DWARF number.
using RegisterValues = std::array<std::uintptr_t, DwarfRegisters::kCount>;

/// Writes the values that sp, pc and callee-saved registers have in the function into which this
/// call is inlined. Leaves other elements of `values` unchanged. Returns the pc at which the
/// registers had the written values. An unwind may start at this pc until the function returns.
ALLOCTAP_ALWAYS_INLINE std::uintptr_t read_own_registers(RegisterValues& values) noexcept {
  std::uintptr_t pc = 0;
#if defined(__x86_64__)
  ALLOCTAP_ASM volatile(
      "leaq 0f(%%rip), %0\n"
      "0:\n\t"
      "movq %%rbx, 24(%1)\n\t"
#if defined(_WIN32)
      "movq %%rsi, 32(%1)\n\t"
      "movq %%rdi, 40(%1)\n\t"
#endif
      "movq %%rbp, 48(%1)\n\t"
      "movq %%rsp, 56(%1)\n\t"
      "movq %%r12, 96(%1)\n\t"
      "movq %%r13, 104(%1)\n\t"
      "movq %%r14, 112(%1)\n\t"
      "movq %%r15, 120(%1)" : "=&r"(pc) : "r"(values.data()) : "memory");
#elif defined(__aarch64__)
  ALLOCTAP_ASM volatile(
      "adr %0, 0f\n"
      "0:\n\t"
      "stp x19, x20, [%1, #152]\n\t"
      "stp x21, x22, [%1, #168]\n\t"
      "stp x23, x24, [%1, #184]\n\t"
      "stp x25, x26, [%1, #200]\n\t"
      "stp x27, x28, [%1, #216]\n\t"
      "stp x29, x30, [%1, #232]\n\t"
      "mov x16, sp\n\t"
      "str x16, [%1, #248]" : "=&r"(pc) : "r"(values.data()) : "memory",
      "x16");
#else
#error "alloctap/arch/own_registers.hpp does not know this architecture"
#endif
  values[DwarfRegisters::kProgramCounter] = pc;
  return pc;
}

}  // namespace alloctap::arch
