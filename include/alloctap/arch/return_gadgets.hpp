/// Ends of functions: what stands in code that leads a return on to the next return address.
///
/// Whoever enters a function in such a way that it returns to a gadget, with the address of code of
/// its own behind, gets control back, though the function saw a caller in the gadget's module. That
/// stacks can be unwound meanwhile is a matter of the row that holds in front of the gadget: it
/// must be one that is given here, with nothing else saved.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/arch/dwarf_registers.hpp"

namespace alloctap::arch {

struct ReturnGadget {
  static constexpr unsigned kNoRegister = DwarfRegisters::kCount;

  /// Machine code; on x86-64 it may stand inside of other instructions.
  std::string_view code;
  /// How the canonical frame address follows.
  unsigned cfa_register = 0;
  std::int64_t cfa_offset = 0;
  /// Restored by the gadget.
  unsigned saved_register = kNoRegister;
  /// Where that and the return address are, from the canonical frame address.
  std::int64_t saved_at = -16;
  std::int64_t return_address_at = -8;
  /// Of how many registers, from `kFirstOptional` on, the row may say that they are saved, a word
  /// each and 16 bytes above `saved_at`: there they are, and the gadget leaves them alone.
  unsigned optional_registers = 0;
  /// What addresses of instructions are multiples of.
  std::size_t alignment = 1;

  static constexpr unsigned kFirstOptional = 19;
};

/// The forms that `forwarding_entries.hpp` can build a frame for, which it tells by their first
/// byte.
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
/// ldp x29, x30, [sp], #bytes; ret, with the size of the frame where the first instruction has it.
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
