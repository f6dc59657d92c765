/// One-byte opcodes that always trap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace alloctap::arch::x86_64 {

/// int3.
inline constexpr std::byte kBreakpointByte{0xCC};

/// int3 and one-byte opcodes undefined in 64-bit mode on every processor, whatever follows (Intel
/// SDM volume 2, table A-2, marked i64). Excludes those with a meaning since: 62, C4, C5, D5.
inline constexpr std::array<std::uint8_t, 16> kTrapBytes{
    0xCC, 0xEA, 0xCE, 0x9A, 0x06, 0x07, 0x0E, 0x16, 0x17, 0x1E, 0x1F, 0x27, 0x2F, 0x37, 0x3F, 0x60,
};

}  // namespace alloctap::arch::x86_64
