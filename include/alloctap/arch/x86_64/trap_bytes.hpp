/// One-byte opcodes that always trap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace alloctap::arch::x86_64 {

/// The opcode of int3.
inline constexpr std::byte kBreakpointByte{0xCC};

/// int3, and the one-byte opcodes that every processor rejects in 64-bit mode, whatever bytes
/// follow (Intel SDM volume 2, table A-2, marked i64). Excludes 62, C4, C5 and D5, because later
/// processors use them as prefixes.
inline constexpr std::array<std::uint8_t, 16> kTrapBytes{
    0xCC, 0xEA, 0xCE, 0x9A, 0x06, 0x07, 0x0E, 0x16, 0x17, 0x1E, 0x1F, 0x27, 0x2F, 0x37, 0x3F, 0x60,
};

}  // namespace alloctap::arch::x86_64
