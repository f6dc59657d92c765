/// How long a function is that no table tells the length of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/arch/x86_64/instruction.hpp"

namespace alloctap::arch::x86_64 {

/// Bytes of the function at the front of `code`, which stands at `address`: up to the first
/// instruction that leads elsewhere and that no branch before it leads over. 0 where `code` ends
/// first, or holds what the decoder does not know.
inline std::size_t leaf_function_bytes(std::span<const std::byte> code,
                                       std::uintptr_t address) noexcept {
  std::uintptr_t furthest = address;
  for (std::size_t at = 0; at < code.size();) {
    const auto instruction = decode_instruction(code.subspan(at), address + at);
    if (!instruction) return 0;
    at += instruction->length;
    const bool branches = instruction->branches() && instruction->flow != Flow::kCall;
    const bool inside = instruction->destination < address + code.size();
    if (branches && inside) furthest = std::max(furthest, instruction->destination);
    const bool ends = instruction->flow == Flow::kEnd || instruction->flow == Flow::kJump;
    if (ends && address + at > furthest) return at;
  }
  return 0;
}

}  // namespace alloctap::arch::x86_64
