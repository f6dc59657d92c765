/// A decoder of position-dependent A64 instructions (Arm ARM, DDI 0487, C4 and C6).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace alloctap::arch::aarch64 {

inline constexpr std::size_t kInstructionBytes = 4;

/// Classes of instructions by how they can be moved to another address.
enum class Form : std::uint8_t {
  kMovable,          ///< Position-independent.
  kJump,             ///< b: to `target`.
  kConditionalJump,  ///< b.cond, bc.cond, cbz, cbnz, tbz, tbnz: to `target` or no jump.
  kCall,             ///< bl: calls `target`.
  kIndirectCall,     ///< blr, and variants that authenticate first.
  kIndirectJump,     ///< br, ret, and variants that authenticate first.
  kAddress,          ///< adr: loads the address `target`.
  kPageAddress,      ///< adrp: loads the page address `target`.
  kLoad,             ///< ldr, ldrsw of `loaded_bytes` at `target`; prfm: 0 bytes.
  kLandingPad,       ///< bti.
  kSigningPad,       ///< paciasp, pacibsp: sign, and are landing pads.
  kBreakpoint,       ///< brk.
  kBoundToPlace,     ///< Position-dependent, or part of a sequence: not movable.
  kUnknownBranch,    ///< Unknown, in the encoding space of branches.
  kUnknown,          ///< Invalid: udf, and unallocated encodings.
};

/// A decoded instruction. `target` is an absolute address.
struct Instruction {
  std::uintptr_t address = 0;
  std::uint32_t word = 0;
  Form form = Form::kMovable;
  std::uint8_t loaded_bytes = 0;
  std::uintptr_t target = 0;

  [[nodiscard]] std::uintptr_t end() const noexcept { return address + kInstructionBytes; }
  /// Returns whether `target` is a branch destination.
  [[nodiscard]] bool branches() const noexcept {
    return form == Form::kJump || form == Form::kConditionalJump || form == Form::kCall;
  }
  /// Returns whether the instruction is a valid target of indirect calls under BTI.
  [[nodiscard]] bool is_pad() const noexcept {
    return form == Form::kLandingPad || form == Form::kSigningPad;
  }
};

namespace decoding {

/// The field that encodes the distance to the target.
enum class Distance : std::uint8_t { kNone, kBits26, kBits19, kBits14, kAddress, kPages };

/// Matches words that equal `bits` under `mask`.
struct Encoding {
  std::uint32_t mask;
  std::uint32_t bits;
  Form form;
  Distance distance = Distance::kNone;
  std::uint8_t loaded_bytes = 0;
};

/// The encodings, of which the first that matches applies. All pc-relative instructions are
/// branches, adr, adrp, or literal loads.
inline constexpr std::array<Encoding, 38> kEncodings{{
    {0xFC000000, 0x14000000, Form::kJump, Distance::kBits26},
    {0xFC000000, 0x94000000, Form::kCall, Distance::kBits26},
    // b.cond and bc.cond; cbz and cbnz; tbz and tbnz.
    {0xFF000000, 0x54000000, Form::kConditionalJump, Distance::kBits19},
    {0x7E000000, 0x34000000, Form::kConditionalJump, Distance::kBits19},
    {0x7E000000, 0x36000000, Form::kConditionalJump, Distance::kBits14},
    {0x9F000000, 0x10000000, Form::kAddress, Distance::kAddress},
    {0x9F000000, 0x90000000, Form::kPageAddress, Distance::kPages},
    // ldr w, ldr x, ldrsw, prfm; ldr s, ldr d, ldr q; an unallocated one.
    {0xFF000000, 0x18000000, Form::kLoad, Distance::kBits19, 4},
    {0xFF000000, 0x58000000, Form::kLoad, Distance::kBits19, 8},
    {0xFF000000, 0x98000000, Form::kLoad, Distance::kBits19, 4},
    {0xFF000000, 0xD8000000, Form::kLoad, Distance::kBits19, 0},
    {0xFF000000, 0x1C000000, Form::kLoad, Distance::kBits19, 4},
    {0xFF000000, 0x5C000000, Form::kLoad, Distance::kBits19, 8},
    {0xFF000000, 0x9C000000, Form::kLoad, Distance::kBits19, 16},
    {0xFF000000, 0xDC000000, Form::kUnknown},
    // br, blr, ret; then their authenticated forms, without and with a modifier; then retaa, retab.
    {0xFFFFFC1F, 0xD61F0000, Form::kIndirectJump},
    {0xFFFFFC1F, 0xD63F0000, Form::kIndirectCall},
    {0xFFFFFC1F, 0xD65F0000, Form::kIndirectJump},
    {0xFFFFF81F, 0xD61F081F, Form::kIndirectJump},
    {0xFFFFF81F, 0xD63F081F, Form::kIndirectCall},
    {0xFFFFF800, 0xD71F0800, Form::kIndirectJump},
    {0xFFFFF800, 0xD73F0800, Form::kIndirectCall},
    {0xFFFFFBE0, 0xD65F0BE0, Form::kIndirectJump},
    // retaasppc; autiasppc; paciasppc; pacm. Not movable, because the pc is part of the signature.
    {0xFFC0001F, 0x5500001F, Form::kBoundToPlace},
    {0xFFC0001F, 0xF380001F, Form::kBoundToPlace},
    {0xFFFFDBFF, 0xDAC183FE, Form::kBoundToPlace},
    {0xFFFFFFFF, 0xD50324FF, Form::kBoundToPlace},
    {0xFFFFFF3F, 0xD503241F, Form::kLandingPad},
    {0xFFFFFFBF, 0xD503233F, Form::kSigningPad},
    // Other system instructions, including svc.
    {0xFF000000, 0xD5000000, Form::kMovable},
    {0xFFE0001F, 0xD4200000, Form::kBreakpoint},
    {0xFF000000, 0xD4000000, Form::kMovable},
    // casp; exclusive loads and stores, which form pairs; memory copies and fills, whose sequence
    // of instructions the system may restart at an earlier one.
    {0xBFA07C00, 0x08207C00, Form::kMovable},
    {0x3F800000, 0x08000000, Form::kBoundToPlace},
    {0x3B200C00, 0x19000400, Form::kBoundToPlace},
    // Whole encoding groups: branches; reserved, with SME in the upper half; unallocated.
    {0x1C000000, 0x14000000, Form::kUnknownBranch},
    {0x9E000000, 0x00000000, Form::kUnknown},
    {0x1A000000, 0x02000000, Form::kUnknown},
}};

/// Returns the signed field of `count` bits whose lowest bit is `low`.
constexpr std::int64_t signed_field(std::uint32_t word, unsigned low, unsigned count) noexcept {
  return static_cast<std::int32_t>(word << (32 - low - count)) >> (32 - count);
}

constexpr std::uintptr_t target_of(std::uint32_t word, Distance distance,
                                   std::uintptr_t address) noexcept {
  constexpr std::int64_t kPage = 4096;
  constexpr std::int64_t kWord = 4;
  const std::int64_t bytes = signed_field(word, 5, 19) * kWord + (word >> 29 & 3);
  switch (distance) {
    case Distance::kBits26:
      return address + static_cast<std::uintptr_t>(signed_field(word, 0, 26) * kWord);
    case Distance::kBits19:
      return address + static_cast<std::uintptr_t>(signed_field(word, 5, 19) * kWord);
    case Distance::kBits14:
      return address + static_cast<std::uintptr_t>(signed_field(word, 5, 14) * kWord);
    case Distance::kAddress:
      return address + static_cast<std::uintptr_t>(bytes);
    case Distance::kPages:
      return (address & ~std::uintptr_t{kPage - 1}) + static_cast<std::uintptr_t>(bytes * kPage);
    case Distance::kNone:
      break;
  }
  return 0;
}

}  // namespace decoding

/// Decodes `word` at `address`. Recognizes all position-dependent instructions up to the 2024
/// extensions. Compare-and-branch of two registers is only recognized as `kUnknownBranch`.
constexpr Instruction decode_instruction(std::uint32_t word, std::uintptr_t address) noexcept {
  Instruction instruction{.address = address, .word = word};
  for (const decoding::Encoding& encoding : decoding::kEncodings) {
    if ((word & encoding.mask) != encoding.bits) continue;
    instruction.form = encoding.form;
    instruction.loaded_bytes = encoding.loaded_bytes;
    instruction.target = decoding::target_of(word, encoding.distance, address);
    break;
  }
  return instruction;
}

/// Decodes the first instruction of `code`, which has at least four bytes.
inline Instruction decode_instruction(std::span<const std::byte> code,
                                      std::uintptr_t address) noexcept {
  std::uint32_t word = 0;
  std::memcpy(&word, code.data(), sizeof word);
  return decode_instruction(word, address);
}

}  // namespace alloctap::arch::aarch64
