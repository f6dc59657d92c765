/// Whether code at a new place does what it did at the old one: decoded anew, with all operands.
#pragma once

#include <Zydis/Zydis.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace alloctap_test {

/// One instruction as Zydis tells of it in full.
struct FullInstruction {
  ZydisDecodedInstruction head{};
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands{};
  std::uintptr_t address = 0;

  static std::optional<FullInstruction> decode(std::span<const std::byte> code,
                                               std::uintptr_t address) {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    FullInstruction full;
    full.address = address;
    const bool known = ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data(), code.size(),
                                                           &full.head, full.operands.data()));
    return known ? std::optional(full) : std::nullopt;
  }

  [[nodiscard]] std::uintptr_t end() const { return address + head.length; }
  [[nodiscard]] ZydisMnemonic mnemonic() const { return head.mnemonic; }
  [[nodiscard]] std::uintptr_t absolute(std::size_t operand) const {
    ZyanU64 result = 0;
    ZydisCalcAbsoluteAddress(&head, &operands[operand], address, &result);
    return result;
  }
  [[nodiscard]] bool is_relative(std::size_t operand) const {
    const auto& one = operands[operand];
    return (one.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && one.imm.is_relative) ||
           (one.type == ZYDIS_OPERAND_TYPE_MEMORY && one.mem.base == ZYDIS_REGISTER_RIP);
  }

  /// The same operand, as far as the place does not matter.
  [[nodiscard]] bool has_same_operand(const FullInstruction& other, std::size_t index) const {
    const auto& a = operands[index];
    const auto& b = other.operands[index];
    if (a.type != b.type || a.size != b.size || a.actions != b.actions) return false;
    if (is_relative(index))
      return other.is_relative(index) && absolute(index) == other.absolute(index);
    switch (a.type) {
      case ZYDIS_OPERAND_TYPE_REGISTER:
        return a.reg.value == b.reg.value;
      case ZYDIS_OPERAND_TYPE_MEMORY:
        return a.mem.base == b.mem.base && a.mem.index == b.mem.index &&
               a.mem.scale == b.mem.scale && a.mem.segment == b.mem.segment &&
               a.mem.disp.value == b.mem.disp.value;
      case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        return a.imm.value.u == b.imm.value.u;
      default:
        return true;
    }
  }

  /// The same effect; for what does not branch by a displacement.
  [[nodiscard]] bool is_same_as(const FullInstruction& other) const {
    if (mnemonic() != other.mnemonic() || head.operand_count != other.head.operand_count ||
        head.attributes != other.head.attributes) {
      return false;
    }
    for (std::size_t i = 0; i < head.operand_count; ++i) {
      if (!has_same_operand(other, i)) return false;
    }
    return true;
  }
};

/// Where code leads that only branches, and what it pushed on the way.
struct Walk {
  std::uintptr_t destination = 0;
  std::uint64_t pushed = 0;
  bool understood = false;
};

/// Follows the code in `[start, end)` of `code`, which stands at `at`, until it leaves that range.
/// `takes` says whether the condition of `original` holds. Understands what a branch may become.
class BranchWalk {
 public:
  BranchWalk(std::span<const std::byte> code, std::uintptr_t at, const FullInstruction& original)
      : code_(code), at_(at), original_(original) {}

  [[nodiscard]] Walk run(std::uintptr_t start, std::uintptr_t end, bool takes) const {
    Walk walk{.destination = start};
    for (int steps = 0; steps < 8 && walk.destination >= start && walk.destination < end; ++steps) {
      const auto now =
          FullInstruction::decode(code_.subspan(walk.destination - at_), walk.destination);
      if (!now || !step(*now, takes, walk)) return walk;
    }
    walk.understood = true;
    return walk;
  }

 private:
  bool step(const FullInstruction& now, bool takes, Walk& walk) const {
    const ZydisMnemonic opposite = opposite_of(original_.mnemonic());
    if (now.mnemonic() == ZYDIS_MNEMONIC_PUSH) {
      walk.pushed = static_cast<std::uint32_t>(now.operands[0].imm.value.u);
      walk.destination = now.end();
    } else if (now.mnemonic() == ZYDIS_MNEMONIC_MOV) {
      const auto& to = now.operands[0];
      if (to.mem.base != ZYDIS_REGISTER_RSP || to.mem.disp.value != 4 || to.size != 32)
        return false;
      walk.pushed |= now.operands[1].imm.value.u << 32;
      walk.destination = now.end();
    } else if (now.mnemonic() == ZYDIS_MNEMONIC_JMP) {
      walk.destination = jump_destination(now);
    } else if (now.mnemonic() == original_.mnemonic() && now.is_relative(0)) {
      walk.destination = takes ? now.absolute(0) : now.end();
    } else if (now.mnemonic() == opposite) {
      walk.destination = takes ? now.end() : now.absolute(0);
    } else {
      return false;
    }
    return true;
  }

  [[nodiscard]] std::uintptr_t jump_destination(const FullInstruction& jump) const {
    if (jump.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) return jump.absolute(0);
    std::uintptr_t word = 0;
    const auto bytes = code_.subspan(jump.absolute(0) - at_, sizeof word);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(&word));
    return word;
  }

  /// The conditions come in pairs of an even opcode and its opposite.
  static ZydisMnemonic opposite_of(ZydisMnemonic mnemonic) {
    constexpr std::array<std::array<ZydisMnemonic, 2>, 8> kPairs{{
        {ZYDIS_MNEMONIC_JO, ZYDIS_MNEMONIC_JNO},
        {ZYDIS_MNEMONIC_JB, ZYDIS_MNEMONIC_JNB},
        {ZYDIS_MNEMONIC_JZ, ZYDIS_MNEMONIC_JNZ},
        {ZYDIS_MNEMONIC_JBE, ZYDIS_MNEMONIC_JNBE},
        {ZYDIS_MNEMONIC_JS, ZYDIS_MNEMONIC_JNS},
        {ZYDIS_MNEMONIC_JP, ZYDIS_MNEMONIC_JNP},
        {ZYDIS_MNEMONIC_JL, ZYDIS_MNEMONIC_JNL},
        {ZYDIS_MNEMONIC_JLE, ZYDIS_MNEMONIC_JNLE},
    }};
    for (const auto& [one, other] : kPairs) {
      if (mnemonic == one) return other;
      if (mnemonic == other) return one;
    }
    return ZYDIS_MNEMONIC_INVALID;
  }

  std::span<const std::byte> code_;
  std::uintptr_t at_;
  const FullInstruction& original_;
};

}  // namespace alloctap_test
