/// A decoder of x86-64 instructions (by Zydis), and the length of leaf functions.
#pragma once

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace alloctap::arch::x86_64 {

/// The control flow after an instruction.
enum class Flow : std::uint8_t {
  kNext,
  kJump,             ///< To `destination`.
  kConditionalJump,  ///< To `destination` if `condition`, as in the opcode.
  kLoop,             ///< loop, loope, loopne, jcxz: conditional, 8-bit displacement only.
  kCall,             ///< To `destination`.
  kIndirectCall,
  kEnd,  ///< Does not continue: return, indirect jump, undefined instruction.
  kBreakpoint,
};

/// A decoded instruction, reduced to the properties needed to move it.
struct Instruction {
  std::uintptr_t address = 0;
  std::array<std::byte, ZYDIS_MAX_INSTRUCTION_LENGTH> bytes{};
  std::uint8_t length = 0;
  Flow flow = Flow::kNext;
  std::uint8_t condition = 0;
  /// Offset of the ModRM byte; 0 if absent.
  std::uint8_t modrm_offset = 0;
  /// Offset of a RIP-relative operand's 32-bit displacement; 0 if absent.
  std::uint8_t operand_offset = 0;
  /// Whether the instruction only computes its operand's address (lea).
  bool computes_address = false;
  /// Whether the instruction is a nop of any length, or int3.
  bool is_padding = false;
  bool is_landing_pad = false;
  /// Whether the instruction cannot be moved, because it depends on its address in a way that no
  /// other member describes.
  bool is_bound_to_place = false;
  bool uses_stack_pointer = false;
  /// Absolute addresses of the RIP-relative operand and of the branch destination.
  std::uintptr_t operand = 0;
  std::uintptr_t destination = 0;

  [[nodiscard]] std::uintptr_t end() const noexcept { return address + length; }
  [[nodiscard]] std::span<const std::byte> code() const noexcept {
    return std::span(bytes).first(length);
  }
  /// Returns whether `destination` is a branch destination.
  [[nodiscard]] bool branches() const noexcept {
    return flow == Flow::kJump || flow == Flow::kConditionalJump || flow == Flow::kLoop ||
           flow == Flow::kCall;
  }
};

namespace decoding {

inline Flow flow_of_branch(const ZydisDecodedInstruction& raw) noexcept {
  const bool is_relative = raw.raw.imm[0].is_relative != 0;
  switch (raw.mnemonic) {
    case ZYDIS_MNEMONIC_CALL:
      return is_relative ? Flow::kCall : Flow::kIndirectCall;
    case ZYDIS_MNEMONIC_JMP:
      return is_relative ? Flow::kJump : Flow::kEnd;
    case ZYDIS_MNEMONIC_JCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
      return Flow::kLoop;
    case ZYDIS_MNEMONIC_INT3:
      return Flow::kBreakpoint;
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
      return Flow::kEnd;
    default:
      break;
  }
  if (raw.meta.category == ZYDIS_CATEGORY_COND_BR) return Flow::kConditionalJump;
  return raw.meta.category == ZYDIS_CATEGORY_RET ? Flow::kEnd : Flow::kNext;
}

/// Returns whether AMD's processors truncate the destination to 16 bits. An operand-size prefix
/// causes the truncation, unless REX.W overrides the prefix, as in calls for thread-local storage.
inline bool has_narrow_branch(const ZydisDecodedInstruction& raw) noexcept {
  const bool is_narrow = (raw.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) != 0;
  return raw.raw.imm[0].is_relative != 0 && is_narrow && raw.raw.rex.W == 0;
}

inline bool is_memory_relative(const ZydisDecodedInstruction& raw) noexcept {
  return (raw.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 && raw.raw.modrm.mod == 0 &&
         raw.raw.modrm.rm == 5 && raw.raw.disp.size == 32;
}

/// Returns whether the ModRM operand is rsp or has the base rsp: number 4, not extended by REX.B,
/// in ModRM.rm (a register) or SIB.base.
inline bool has_stack_pointer(const ZydisDecodedInstruction& raw) noexcept {
  if ((raw.attributes & ZYDIS_ATTRIB_HAS_MODRM) == 0 || raw.raw.rex.B != 0) return false;
  if (raw.raw.modrm.rm != 4) return false;
  return raw.raw.modrm.mod == 3 || raw.raw.sib.base == 4;
}

inline void fill_places(const ZydisDecodedInstruction& raw, Instruction& instruction) noexcept {
  if ((raw.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0) {
    instruction.modrm_offset = raw.raw.modrm.offset;
  }
  if (is_memory_relative(raw)) {
    instruction.operand_offset = raw.raw.disp.offset;
    instruction.operand = instruction.end() + static_cast<std::uintptr_t>(raw.raw.disp.value);
  }
  if (raw.raw.imm[0].is_relative != 0) {
    instruction.destination =
        instruction.end() + static_cast<std::uintptr_t>(raw.raw.imm[0].value.s);
  }
}

inline const ZydisDecoder& decoder() noexcept {
  static const ZydisDecoder instance = [] {
    ZydisDecoder made;
    ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return made;
  }();
  return instance;
}

}  // namespace decoding

/// Decodes the first instruction of `code` at `address`. Returns nullopt if Zydis does not know the
/// instruction, or `code` ends within it. Allocates nothing.
inline std::optional<Instruction> decode_instruction(std::span<const std::byte> code,
                                                     std::uintptr_t address) noexcept {
  ZydisDecodedInstruction raw;
  if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoding::decoder(), nullptr, code.data(),
                                                code.size(), &raw))) {
    return std::nullopt;
  }
  Instruction instruction;
  instruction.address = address;
  instruction.length = raw.length;
  std::memcpy(instruction.bytes.data(), code.data(), raw.length);
  instruction.flow = decoding::flow_of_branch(raw);
  instruction.condition = raw.opcode & 0x0F;
  decoding::fill_places(raw, instruction);
  const bool is_far = raw.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
  instruction.is_bound_to_place = raw.mnemonic == ZYDIS_MNEMONIC_XBEGIN ||
                                  decoding::has_narrow_branch(raw) ||
                                  (instruction.operand_offset != 0 && raw.address_width != 64) ||
                                  (is_far && instruction.flow == Flow::kIndirectCall);
  instruction.is_landing_pad = raw.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
  instruction.is_padding =
      raw.mnemonic == ZYDIS_MNEMONIC_NOP || instruction.flow == Flow::kBreakpoint;
  instruction.computes_address = raw.mnemonic == ZYDIS_MNEMONIC_LEA;
  instruction.uses_stack_pointer = decoding::has_stack_pointer(raw);
  return instruction;
}

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
