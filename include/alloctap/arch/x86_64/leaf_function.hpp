/// Computes the length of functions without unwind tables.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/arch/x86_64/instruction.hpp"

namespace alloctap::arch::x86_64 {

/// Returns the length of the function at the start of `code`, or 0 if `code` ends first or cannot
/// be decoded. The function is assumed to end at the first return or jump that no branch skips.
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
