/// Instructions of A64 as Capstone tells of them.
#pragma once

#include <capstone/capstone.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace alloctap_test {

/// One instruction, valid until the decoder's next.
class CapstoneInstruction {
 public:
  explicit CapstoneInstruction(const cs_insn& raw) : raw_(raw) {}

  [[nodiscard]] unsigned id() const { return raw_.id; }
  [[nodiscard]] const cs_arm64& detail() const { return raw_.detail->arm64; }
  [[nodiscard]] std::string text() const { return std::string(raw_.mnemonic) + " " + raw_.op_str; }
  [[nodiscard]] std::string mnemonic() const { return raw_.mnemonic; }
  [[nodiscard]] arm64_reg reg(std::size_t operand) const { return detail().operands[operand].reg; }

  [[nodiscard]] bool is_conditional() const {
    switch (raw_.id) {
      case ARM64_INS_B:
        return detail().cc != ARM64_CC_INVALID;
      case ARM64_INS_CBZ:
      case ARM64_INS_CBNZ:
      case ARM64_INS_TBZ:
      case ARM64_INS_TBNZ:
        return true;
      default:
        return false;
    }
  }
  [[nodiscard]] bool is_jump() const { return raw_.id == ARM64_INS_B && !is_conditional(); }
  [[nodiscard]] bool is_address() const {
    return raw_.id == ARM64_INS_ADR || raw_.id == ARM64_INS_ADRP;
  }
  [[nodiscard]] bool is_literal_load() const {
    const bool loads =
        raw_.id == ARM64_INS_LDR || raw_.id == ARM64_INS_LDRSW || raw_.id == ARM64_INS_PRFM;
    return loads && detail().op_count == 2 && detail().operands[1].type == ARM64_OP_IMM;
  }
  /// Where it goes, or what it reads or takes the address of, if that depends on its place.
  [[nodiscard]] std::optional<std::uintptr_t> target() const {
    const bool is_relative = is_jump() || is_conditional() || raw_.id == ARM64_INS_BL ||
                             is_address() || is_literal_load();
    if (!is_relative) return std::nullopt;
    return static_cast<std::uintptr_t>(detail().operands[detail().op_count - 1].imm);
  }
  /// A conditional branch without its target.
  [[nodiscard]] std::string condition() const {
    const std::string operands = raw_.op_str;
    const std::size_t comma = operands.rfind(',');
    return mnemonic() + " " + (comma == operands.npos ? "" : operands.substr(0, comma));
  }

 private:
  const cs_insn& raw_;
};

class CapstoneDecoder {
 public:
  CapstoneDecoder() {
    cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &handle_);
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_ = cs_malloc(handle_);
  }
  ~CapstoneDecoder() {
    cs_free(instruction_, 1);
    cs_close(&handle_);
  }
  CapstoneDecoder(const CapstoneDecoder&) = delete;
  CapstoneDecoder& operator=(const CapstoneDecoder&) = delete;

  /// Nothing where Capstone knows none.
  std::optional<CapstoneInstruction> decode(std::span<const std::byte> code,
                                            std::uintptr_t address) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(code.data());
    std::size_t size = sizeof(std::uint32_t);
    std::uint64_t at = address;
    if (!cs_disasm_iter(handle_, &bytes, &size, &at, instruction_)) return std::nullopt;
    return CapstoneInstruction(*instruction_);
  }

 private:
  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

}  // namespace alloctap_test
