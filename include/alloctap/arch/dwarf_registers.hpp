/// The DWARF register numbers of each architecture.
///
/// x86-64: System V ABI, AMD64 supplement, figure 3.36. AArch64: "DWARF for the Arm 64-bit
/// Architecture", section 4.1. Unwind tables may mention numbers from `kCount` on (vector and
/// system registers), which are not tracked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"

namespace alloctap::arch {

struct DwarfRegisters {
#if defined(__x86_64__)
  static constexpr std::size_t kCount = 17;
  static constexpr unsigned kFramePointer = 6;
  static constexpr unsigned kStackPointer = 7;
  static constexpr unsigned kReturnAddress = 16;
  static constexpr unsigned kProgramCounter = 16;
  /// Whether the return address column is the program counter, so that the caller's value is the
  /// caller's pc.
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

}  // namespace alloctap::arch
