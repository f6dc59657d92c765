/// Recognizes thunks: functions that only jump to another one, such as PLT entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "alloctap/arch/thunk_destination.hpp"
#include "alloctap/arch/x86_64/instruction.hpp"

namespace alloctap::arch::x86_64 {

/// Returns the destination of `code` at `address` if it is a thunk; otherwise nullopt. A thunk is
/// an optional endbr64, then a jmp to an address or through a word in memory (PLT entries).
inline std::optional<ThunkDestination> thunk_destination(std::span<const std::byte> code,
                                                         std::uintptr_t address) noexcept {
  auto instruction = decode_instruction(code, address);
  if (instruction && instruction->is_landing_pad) {
    const std::size_t skipped = instruction->length;
    instruction = decode_instruction(code.subspan(skipped), address + skipped);
  }
  if (!instruction) return std::nullopt;
  if (instruction->flow == Flow::kJump)
    return ThunkDestination{.address = instruction->destination};
  // FF /4 is the only jump through a word in memory. Here its operand is RIP-relative.
  const bool is_jump = instruction->flow == Flow::kEnd && instruction->operand_offset != 0 &&
                       instruction->bytes[instruction->modrm_offset - 1U] == std::byte{0xFF};
  if (!is_jump) return std::nullopt;
  return ThunkDestination{.pointer = instruction->operand};
}

/// Returns whether `code` is a lazy binding stub: an optional endbr64, then push imm32. No compiler
/// generates a function that begins with this push.
inline bool is_binding_stub(std::span<const std::byte> code) noexcept {
  constexpr std::byte kPush{0x68};
  const auto instruction = decode_instruction(code, 0);
  if (instruction && instruction->is_landing_pad) code = code.subspan(instruction->length);
  return !code.empty() && code.front() == kPush;
}

}  // namespace alloctap::arch::x86_64
