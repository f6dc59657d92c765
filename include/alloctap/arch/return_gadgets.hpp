/// Return gadgets: instruction sequences that return to the next return address on the stack.
///
/// A hook enters a function with a gadget in the caller's module as the return address. The next
/// return address on the stack leads into the hook. So the function's return address is in the
/// caller's module, and the gadget returns to the hook. While the function runs, the stack is
/// unwindable if the unwind row at the byte before the gadget is the one that `kReturnGadgets`
/// describes, and restores no other register.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/arch/dwarf_registers.hpp"

namespace alloctap::arch {

struct ReturnGadget {
  static constexpr unsigned kNoRegister = DwarfRegisters::kCount;

  /// The machine code. On x86-64, it may begin inside another instruction.
  std::string_view code;
  /// The rule of the canonical frame address (CFA).
  unsigned cfa_register = 0;
  std::int64_t cfa_offset = 0;
  /// The register that the gadget loads from the stack.
  unsigned saved_register = kNoRegister;
  /// Offsets of the saved register and the return address from the CFA.
  std::int64_t saved_at = -16;
  std::int64_t return_address_at = -8;
  /// The number of registers, from `kFirstOptional` on, that the unwind row may restore although
  /// the gadget does not load them. Their words are consecutive and begin 2 words above `saved_at`.
  unsigned optional_registers = 0;
  /// Required alignment of `code`.
  std::size_t alignment = 1;

  static constexpr unsigned kFirstOptional = 19;
};

/// The gadgets for which `forwarding_entries.hpp` builds stack frames. The code there distinguishes
/// the gadgets by their first byte.
#if defined(__x86_64__)
inline constexpr unsigned kRbx = 3;
inline constexpr std::array<ReturnGadget, 7> kReturnGadgets{{
    // ret
    {"\xC3", DwarfRegisters::kStackPointer, 8},
    // add $8, %rsp; ret
    {"\x48\x83\xC4\x08\xC3", DwarfRegisters::kStackPointer, 16},
    // pop %rcx; ret (how Clang frees 8 bytes)
    {"\x59\xC3", DwarfRegisters::kStackPointer, 16},
    // pop %rbx; ret
    {"\x5B\xC3", DwarfRegisters::kStackPointer, 16, kRbx},
    // pop %rbp; ret
    {"\x5D\xC3", DwarfRegisters::kStackPointer, 16, DwarfRegisters::kFramePointer},
    {"\x5D\xC3", DwarfRegisters::kFramePointer, 16, DwarfRegisters::kFramePointer},
    // leave; ret
    {"\xC9\xC3", DwarfRegisters::kFramePointer, 16, DwarfRegisters::kFramePointer},
}};
#elif defined(__aarch64__)
/// Returns the gadget ldp x29, x30, [sp], #bytes; ret. The ldp encodes the frame size.
constexpr ReturnGadget restore_and_return(std::string_view code, unsigned cfa_register,
                                          std::int64_t bytes) noexcept {
  return {code,
          cfa_register,
          bytes,
          DwarfRegisters::kFramePointer,
          -bytes,
          8 - bytes,
          static_cast<unsigned>(bytes - 16) / 8,
          4};
}
inline constexpr std::string_view kRestore16{"\xFD\x7B\xC1\xA8\xC0\x03\x5F\xD6"};
inline constexpr std::string_view kRestore32{"\xFD\x7B\xC2\xA8\xC0\x03\x5F\xD6"};
inline constexpr std::string_view kRestore48{"\xFD\x7B\xC3\xA8\xC0\x03\x5F\xD6"};
inline constexpr std::array<ReturnGadget, 6> kReturnGadgets{{
    restore_and_return(kRestore16, DwarfRegisters::kStackPointer, 16),
    restore_and_return(kRestore16, DwarfRegisters::kFramePointer, 16),
    restore_and_return(kRestore32, DwarfRegisters::kStackPointer, 32),
    restore_and_return(kRestore32, DwarfRegisters::kFramePointer, 32),
    restore_and_return(kRestore48, DwarfRegisters::kStackPointer, 48),
    restore_and_return(kRestore48, DwarfRegisters::kFramePointer, 48),
}};
#else
#error "alloctap/arch/return_gadgets.hpp does not know this architecture"
#endif

}  // namespace alloctap::arch
