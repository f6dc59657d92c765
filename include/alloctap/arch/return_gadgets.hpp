/// Return gadgets: instruction sequences that return to the next return address on the stack.
///
/// A hook calls a function with a gadget in the caller's module as return address, and the hook's
/// own code above it. The function then sees that module as its caller, and the hook regains
/// control. Stacks stay unwindable meanwhile if the unwind row just before the gadget is the one
/// listed here, with no other register saved.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/arch/dwarf_registers.hpp"

namespace alloctap::arch {

struct ReturnGadget {
  static constexpr unsigned kNoRegister = DwarfRegisters::kCount;

  /// Machine code; on x86-64 it may be inside other instructions.
  std::string_view code;
  /// The rule of the canonical frame address (CFA).
  unsigned cfa_register = 0;
  std::int64_t cfa_offset = 0;
  /// The register that the gadget restores.
  unsigned saved_register = kNoRegister;
  /// Offsets of the saved register and the return address from the CFA.
  std::int64_t saved_at = -16;
  std::int64_t return_address_at = -8;
  /// How many registers from `kFirstOptional` on the row may list as saved. Their slots are one
  /// word each, from 16 bytes above `saved_at`. The gadget does not change them.
  unsigned optional_registers = 0;
  /// Required alignment of `code`.
  std::size_t alignment = 1;

  static constexpr unsigned kFirstOptional = 19;
};

/// The gadgets that `forwarding_entries.hpp` builds frames for; it distinguishes them by their
/// first byte.
#if defined(__x86_64__)
inline constexpr unsigned kRbx = 3;
inline constexpr std::array<ReturnGadget, 7> kReturnGadgets{{
    // ret
    {"\xC3", DwarfRegisters::kStackPointer, 8},
    // add $8, %rsp; ret
    {"\x48\x83\xC4\x08\xC3", DwarfRegisters::kStackPointer, 16},
    // pop %rcx; ret, as Clang does it
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
/// Describes ldp x29, x30, [sp], #bytes; ret. The first instruction encodes the frame size.
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
