/// The DWARF register numbers of each architecture, and a function's own register values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"

namespace alloctap::arch {

/// Numbers on x86-64: System V ABI, AMD64 supplement, figure 3.36; on AArch64: "DWARF for the Arm
/// 64-bit Architecture", section 4.1. Unwind tables may mention numbers from `kCount` on (vector
/// and system registers), which are not tracked.
struct DwarfRegisters {
#if defined(__x86_64__)
  static constexpr std::size_t kCount = 17;
  static constexpr unsigned kFramePointer = 6;
  static constexpr unsigned kStackPointer = 7;
  static constexpr unsigned kReturnAddress = 16;
  static constexpr unsigned kProgramCounter = 16;
  /// Whether the return address column is the program counter, so that the caller's value of that
  /// column is the caller's pc.
  static constexpr bool kReturnAddressIsProgramCounter = true;
  /// Whether return addresses may be signed (pointer authentication).
  static constexpr bool kMaySignReturnAddress = false;

  /// Returns whether `number` is callee-saved: rbx, rbp and r12 to r15. Such a register is
  /// unchanged if the row has no rule for it.
  static constexpr bool is_preserved(unsigned number) noexcept {
#if defined(_WIN32)
    // rsi and rdi are callee-saved on Windows ("x64 calling convention").
    if (number == 4 || number == 5) return true;
#endif
    return number == 3 || number == kFramePointer || (number >= 12 && number <= 15);
  }

  static std::uintptr_t strip_signature(std::uintptr_t return_address) noexcept {
    return return_address;
  }
#elif defined(__aarch64__)
  static constexpr std::size_t kCount = 33;
  static constexpr unsigned kFramePointer = 29;
  static constexpr unsigned kReturnAddress = 30;
  /// False, because the return address column is the link register, which calls overwrite.
  static constexpr bool kReturnAddressIsProgramCounter = false;
  static constexpr unsigned kStackPointer = 31;
  /// The return address column of signal frames, in which the kernel saved the interrupted pc.
  /// Other frames use the link register.
  static constexpr unsigned kProgramCounter = 32;
  static constexpr bool kMaySignReturnAddress = true;

  /// Returns whether `number` is x19 to x29, or the link register, which leaf functions preserve.
  static constexpr bool is_preserved(unsigned number) noexcept {
    return number >= 19 && number <= kReturnAddress;
  }

  /// Removes the signature by XPACLRI, a no-op on processors without pointer authentication.
  static std::uintptr_t strip_signature(std::uintptr_t return_address) noexcept {
    register std::uintptr_t link ALLOCTAP_ASM("x30") = return_address;
    ALLOCTAP_ASM("hint #7" : "+r"(link));
    return link;
  }
#else
#error "alloctap/arch/dwarf_registers.hpp does not know this architecture"
#endif
};

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
#error "alloctap/arch/dwarf_registers.hpp does not know this architecture"
#endif
  values[DwarfRegisters::kProgramCounter] = pc;
  return pc;
}

}  // namespace alloctap::arch
