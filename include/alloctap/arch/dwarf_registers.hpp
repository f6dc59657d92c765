/// The registers that call frame information speaks of, by their DWARF numbers.
///
/// x86-64: System V ABI, AMD64 supplement, figure 3.36. AArch64: "DWARF for the Arm 64-bit
/// Architecture", section 4.1. Numbers beyond `kCount` (vector and system registers) may be
/// mentioned and are not kept.
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
  /// Whether that column is the program counter: a caller's value is where it continues.
  static constexpr bool kReturnAddressIsProgramCounter = true;
  /// Whether return addresses may carry a signature (pointer authentication).
  static constexpr bool kMaySignReturnAddress = false;

  /// Whether a function leaves `number` as it found it where its rules say nothing of it: rbx, rbp
  /// and r12 to r15. What the rules say goes first.
  static constexpr bool is_preserved(unsigned number) noexcept {
#if defined(_WIN32)
    // rsi and rdi ("x64 calling convention").
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
  /// The link register is not: a caller's value is lost in its call.
  static constexpr bool kReturnAddressIsProgramCounter = false;
  static constexpr unsigned kStackPointer = 31;
  /// Where a signal interrupted its caller; calls leave their return address in the link register.
  static constexpr unsigned kProgramCounter = 32;
  static constexpr bool kMaySignReturnAddress = true;

  /// x19 to x29, and the link register as long as a leaf function runs.
  static constexpr bool is_preserved(unsigned number) noexcept {
    return number >= 19 && number <= kReturnAddress;
  }

  /// XPACLRI, a hint that does nothing on processors without pointer authentication.
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
