/// A decoder of DWARF call frame instructions.
#pragma once

#include <cstdint>

#include "alloctap/elf/call_frame_operation.hpp"
#include "alloctap/elf/common_information.hpp"

namespace alloctap::elf {

/// A decoder of the call frame instructions in a byte sequence. Runs inside malloc.
class CallFrameDecoder {
 public:
  /// Decodes the instructions in `reader`. `common` supplies the alignment factors and the pointer
  /// encoding. Keeps a reference to `common`.
  CallFrameDecoder(ByteReader reader, const CommonInformation& common) noexcept
      : reader_(reader), common_(&common) {}

  [[nodiscard]] bool at_end() const noexcept { return reader_.at_end(); }
  [[nodiscard]] bool ok() const noexcept { return reader_.ok(); }
  /// Returns the bytes not decoded yet.
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return reader_.rest(); }
  /// Skips `bytes`, whole instructions that the caller has decoded.
  void skip(std::size_t bytes) noexcept { static_cast<void>(reader_.read_bytes(bytes)); }

  /// Decodes the next instruction. An instruction cut off by the end fails the reader. After
  /// `kUnknown`, no further instruction can be decoded.
  [[nodiscard]] CallFrameOperation next() noexcept {
    using Action = CallFrameOperation::Action;
    CallFrameOperation operation;
    const auto opcode = reader_.read<std::uint8_t>();
    const std::uint8_t packed = opcode & 0x3FU;
    switch (opcode & 0xC0U) {
      case 0x40:  // advance_loc
        operation.action = Action::kAdvance;
        operation.value = scaled(packed, common_->code_alignment);
        return operation;
      case 0x80:  // offset
        operation.action = Action::kSetRule;
        operation.rule_kind = RegisterRule::Kind::kAtCfaPlus;
        operation.register_number = packed;
        read_operand(Operand::kFactoredUnsigned, operation);
        return operation;
      case 0xC0:  // restore
        operation.action = Action::kRestoreRule;
        operation.register_number = packed;
        return operation;
      default:
        if (packed < kCallFrameFormats.size()) decode(kCallFrameFormats[packed], operation);
        return operation;
    }
  }

 private:
  using Operand = CallFrameFormat::Operand;

  void decode(const CallFrameFormat& format, CallFrameOperation& operation) noexcept {
    operation.action = format.action;
    operation.rule_kind = format.rule_kind;
    read_operand(format.first, operation);
    read_operand(format.second, operation);
  }

  void read_operand(Operand operand, CallFrameOperation& operation) noexcept {
    switch (operand) {
      case Operand::kNone:
        return;
      case Operand::kRegister:
        operation.register_number = reader_.read_uleb128();
        return;
      case Operand::kAddress:
        operation.value =
            static_cast<std::int64_t>(read_encoded_pointer(reader_, common_->pointer_encoding, 0));
        return;
      case Operand::kExpression:
        return read_expression(operation);
      default:
        operation.value = scaled(read_number(operand), factor_of(operand));
    }
  }

  void read_expression(CallFrameOperation& operation) noexcept {
    const auto expression = reader_.read_bytes(reader_.read_uleb128());
    if (expression.size() > UINT32_MAX) return reader_.fail();
    operation.expression_bytes = static_cast<std::uint32_t>(expression.size());
    operation.value =
        static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(expression.data()));
  }

  std::uint64_t read_number(Operand operand) noexcept {
    switch (operand) {
      case Operand::kDelta1:
        return reader_.read<std::uint8_t>();
      case Operand::kDelta2:
        return reader_.read<std::uint16_t>();
      case Operand::kDelta4:
        return reader_.read<std::uint32_t>();
      case Operand::kFactoredSigned:
        return static_cast<std::uint64_t>(reader_.read_sleb128());
      case Operand::kFactoredNegated:
        return 0 - reader_.read_uleb128();
      default:
        return reader_.read_uleb128();
    }
  }

  [[nodiscard]] std::uint64_t factor_of(Operand operand) const noexcept {
    switch (operand) {
      case Operand::kUnsigned:
        return 1;
      case Operand::kDelta1:
      case Operand::kDelta2:
      case Operand::kDelta4:
        return common_->code_alignment;
      default:
        return static_cast<std::uint64_t>(common_->data_alignment);
    }
  }

  /// Multiplies modulo 2^64, as address arithmetic does.
  static std::int64_t scaled(std::uint64_t number, std::uint64_t factor) noexcept {
    return static_cast<std::int64_t>(number * factor);
  }

  ByteReader reader_;
  const CommonInformation* common_;
};

}  // namespace alloctap::elf
