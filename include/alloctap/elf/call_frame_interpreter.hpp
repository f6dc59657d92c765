/// A decoder and an interpreter of call frame instructions, which compute the rows of an FDE.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "alloctap/elf/call_frame.hpp"
#include "alloctap/elf/unwind_tables.hpp"

namespace alloctap::elf {

/// A decoded instruction. Opcodes that differ only in width or sign of operands have one `Action`.
struct CallFrameOperation {
  enum class Action : std::uint8_t {
    kUnknown,
    kNothing,
    /// Adds `value` to the location.
    kAdvance,
    /// Sets the location to `value`.
    kSetLocation,
    /// Sets the CFA to `register_number` + `value`.
    kSetCfa,
    kSetCfaRegister,
    kSetCfaOffset,
    kSetCfaExpression,
    /// Sets the rule of `register_number` to `rule_kind` with `value`.
    kSetRule,
    /// Resets the rule of `register_number` to the rule that the CIE's instructions set.
    kRestoreRule,
    kRememberRow,
    kRestoreRow,
    kToggleSignature,
  };

  Action action = Action::kUnknown;
  RegisterRule::Kind rule_kind = RegisterRule::Kind::kUnspecified;
  /// The length of the expression, if any.
  std::uint32_t expression_bytes = 0;
  std::uint64_t register_number = 0;
  /// A number of bytes, already multiplied by the alignment factor, or an address.
  std::int64_t value = 0;
};

/// The operand encodings of one opcode, and its action.
struct CallFrameFormat {
  enum class Operand : std::uint8_t {
    kNone,
    /// ULEB128, stored in `register_number`. All other operands are stored in `value`.
    kRegister,
    kUnsigned,
    /// Multiplied by the data alignment factor.
    kFactoredUnsigned,
    kFactoredSigned,
    kFactoredNegated,
    /// 1, 2 or 4 bytes, multiplied by the code alignment factor.
    kDelta1,
    kDelta2,
    kDelta4,
    kAddress,
    kExpression,
  };

  CallFrameOperation::Action action = CallFrameOperation::Action::kUnknown;
  Operand first = Operand::kNone;
  Operand second = Operand::kNone;
  RegisterRule::Kind rule_kind = RegisterRule::Kind::kUnspecified;
};

/// The format of each opcode, except for the three opcodes with an embedded operand (DWARF 5, 6.4.2
/// and 7.24; GNU and AArch64 extensions as in binutils' dwarf2.def).
inline constexpr auto kCallFrameFormats = [] {
  using Action = CallFrameOperation::Action;
  using Rule = RegisterRule::Kind;
  using enum CallFrameFormat::Operand;
  const auto rule = [](Rule kind, CallFrameFormat::Operand operand = kNone) {
    return CallFrameFormat{Action::kSetRule, kRegister, operand, kind};
  };
  std::array<CallFrameFormat, 0x30> formats{};
  formats[0x00] = {Action::kNothing};                             // nop
  formats[0x01] = {Action::kSetLocation, kAddress};               // set_loc
  formats[0x02] = {Action::kAdvance, kDelta1};                    // advance_loc1
  formats[0x03] = {Action::kAdvance, kDelta2};                    // advance_loc2
  formats[0x04] = {Action::kAdvance, kDelta4};                    // advance_loc4
  formats[0x05] = rule(Rule::kAtCfaPlus, kFactoredUnsigned);      // offset_extended
  formats[0x06] = {Action::kRestoreRule, kRegister};              // restore_extended
  formats[0x07] = rule(Rule::kUndefined);                         // undefined
  formats[0x08] = rule(Rule::kSameValue);                         // same_value
  formats[0x09] = rule(Rule::kInRegister, kUnsigned);             // register
  formats[0x0A] = {Action::kRememberRow};                         // remember_state
  formats[0x0B] = {Action::kRestoreRow};                          // restore_state
  formats[0x0C] = {Action::kSetCfa, kRegister, kUnsigned};        // def_cfa
  formats[0x0D] = {Action::kSetCfaRegister, kRegister};           // def_cfa_register
  formats[0x0E] = {Action::kSetCfaOffset, kUnsigned};             // def_cfa_offset
  formats[0x0F] = {Action::kSetCfaExpression, kExpression};       // def_cfa_expression
  formats[0x10] = rule(Rule::kAtExpression, kExpression);         // expression
  formats[0x11] = rule(Rule::kAtCfaPlus, kFactoredSigned);        // offset_extended_sf
  formats[0x12] = {Action::kSetCfa, kRegister, kFactoredSigned};  // def_cfa_sf
  formats[0x13] = {Action::kSetCfaOffset, kFactoredSigned};       // def_cfa_offset_sf
  formats[0x14] = rule(Rule::kCfaPlus, kFactoredUnsigned);        // val_offset
  formats[0x15] = rule(Rule::kCfaPlus, kFactoredSigned);          // val_offset_sf
  formats[0x16] = rule(Rule::kExpressionValue, kExpression);      // val_expression
  // This number is also GNU_window_save of SPARC, which is not supported.
  if (arch::DwarfRegisters::kMaySignReturnAddress) {
    formats[0x2D] = {Action::kToggleSignature};  // negate_ra_state
  }
  formats[0x2E] = {Action::kNothing, kUnsigned};             // GNU_args_size
  formats[0x2F] = rule(Rule::kAtCfaPlus, kFactoredNegated);  // GNU_negative_offset_extended
  return formats;
}();

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
  /// Skips `bytes` bytes: whole instructions that the caller has decoded.
  void skip(std::size_t bytes) noexcept { static_cast<void>(reader_.read_bytes(bytes)); }

  /// Decodes the next instruction. If the bytes end within the instruction, the reader fails. After
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

/// An iterator over the rows of one FDE, by ascending address. An object takes about 4 KB.
/// Allocates nothing, reads only the FDE's and CIE's instructions, and stops after
/// `kMaxInstructions`. Runs inside malloc.
class CallFrameInterpreter {
 public:
  /// Maximum nesting of DW_CFA_remember_state. Compilers nest once, hand-written code rarely twice.
  static constexpr std::size_t kMaxRememberedRows = 8;
  static constexpr std::size_t kMaxInstructions = std::size_t{1} << 16;

  /// Keeps a reference to `description`.
  explicit CallFrameInterpreter(const FrameDescription& description) noexcept
      : description_(description),
        decoder_(ByteReader(description.common.instructions), description.common) {
    location_ = row_.begin = row_.end = description.begin;
    row_.signal_frame = description.common.signal_frame;
    set_return_address(description.common.return_address_register);
    while (running() && !decoder_.at_end()) execute_next();
    if (location_ != description.begin) fail(UnwindStatus::kMalformed);
    initial_registers_ = row_.registers;
    decoder_ = CallFrameDecoder(ByteReader(description.instructions), description.common);
  }
  explicit CallFrameInterpreter(FrameDescription&&) = delete;

  /// Advances to the next non-empty row. Returns false after the last row, or on an error, which
  /// `status` then returns.
  [[nodiscard]] bool next() noexcept {
    row_.begin = row_.end;
    while (running() && row_.begin < description_.end) {
      if (decoder_.at_end()) location_ = description_.end;
      if (!decoder_.at_end()) execute_next();
      if (running() && location_ != row_.begin) {
        row_.end = std::min(location_, description_.end);
        return true;
      }
    }
    return false;
  }

  /// Skips rows that end at or before `pc`, but not beyond an advance_loc4 or set_loc. Call `next`
  /// afterwards. A fast path, because dozens of rows may precede a call, and every call address of
  /// the process is looked up.
  void skip_rows_before(std::uintptr_t pc) noexcept {
    while (running() && !decoder_.at_end()) {
      const bool reached = run_common_instructions(pc);
      row_.begin = row_.end = location_;
      if (reached || decoder_.rest().size() < kLongestCommon) return;
      execute_next();
    }
  }

  /// Returns the row that `next` advanced to.
  [[nodiscard]] const CallFrameRow& row() const noexcept { return row_; }
  /// Returns `kFound` unless an error occurred.
  [[nodiscard]] UnwindStatus status() const noexcept { return status_; }

 private:
  using Action = CallFrameOperation::Action;

  [[nodiscard]] bool running() const noexcept { return status_ == UnwindStatus::kFound; }

  /// Records `reason`, unless an error occurred before.
  void fail(UnwindStatus reason) noexcept {
    if (running()) status_ = reason;
  }

  void set_return_address(std::uint64_t number) noexcept {
    if (number >= row_.registers.size()) return fail(UnwindStatus::kTooComplex);
    row_.return_address_register = static_cast<std::uint8_t>(number);
  }

  /// Length of the longest instruction that `run_common_instructions` decodes.
  static constexpr std::size_t kLongestCommon = 3;
  static constexpr std::uint8_t kAdvance1 = 0x02;
  static constexpr std::uint8_t kAdvance2 = 0x03;
  static constexpr std::uint8_t kAdvance4 = 0x04;
  static constexpr std::uint8_t kSetCfaOffset = 0x0E;

  /// Executes instructions of up to three bytes, without decoding into a `CallFrameOperation`.
  /// Returns true if the next instruction advances beyond `pc`, or is advance_loc4 or set_loc.
  /// Returns false for any other instruction, and at the end.
  bool run_common_instructions(std::uintptr_t pc) noexcept {
    const std::span<const std::byte> bytes = decoder_.rest();
    const auto byte_at = [&](std::size_t i) { return std::to_integer<std::uint8_t>(bytes[i]); };
    std::size_t at = 0;
    std::uint8_t opcode = 0;
    // The condition ensures that every operand is complete. `next` decodes the last few bytes.
    while (at + kLongestCommon <= bytes.size()) {
      opcode = byte_at(at);
      const std::uint8_t operand = byte_at(at + 1);
      std::size_t length = 0;
      if (opcode >> 6 == 1) {
        length = advance_within(opcode & 0x3FU, 1, pc);
      } else if (opcode == kAdvance1) {
        length = advance_within(operand, 2, pc);
      } else if (opcode == kAdvance2) {
        length = advance_within(operand | std::uint32_t{byte_at(at + 2)} << 8, 3, pc);
      } else {
        length = run_common_instruction(opcode, operand);
      }
      if (length == 0) break;
      at += length;
    }
    const bool stopped = at + kLongestCommon <= bytes.size();
    decoder_.skip(at);
    executed_ += at;
    return stopped && (opcode >> 6 == 1 || (opcode != 0 && opcode <= kAdvance4));
  }

  /// Advances the location by `steps` and returns `length`, unless the new location is beyond `pc`.
  /// In that case, returns 0.
  std::size_t advance_within(std::uint32_t steps, std::size_t length, std::uintptr_t pc) noexcept {
    const std::uintptr_t to = location_ + steps * description_.common.code_alignment;
    if (to > pc || to < location_) return 0;
    location_ = to;
    return length;
  }

  /// Executes an offset, restore or def_cfa_offset instruction. Returns the instruction's length; 0
  /// without an effect if it is another one, or if the operand exceeds one byte.
  std::size_t run_common_instruction(std::uint8_t opcode, std::uint8_t operand) noexcept {
    const std::uint8_t packed = opcode & 0x3FU;
    const bool keeps_register = opcode >> 6 >= 2 && packed < row_.registers.size();
    if (keeps_register && opcode >> 6 == 3) {
      row_.registers[packed] = initial_registers_[packed];
      return 1;
    }
    if (operand >= 0x80) return 0;
    if (keeps_register) {
      row_.registers[packed] = {RegisterRule::Kind::kAtCfaPlus, 0,
                                operand * description_.common.data_alignment};
      return 2;
    }
    if (opcode != kSetCfaOffset || row_.cfa.kind != CfaRule::Kind::kRegisterPlusOffset) return 0;
    row_.cfa.value = operand;
    return 2;
  }

  void execute_next() noexcept {
    const CallFrameOperation operation = decoder_.next();
    if (!decoder_.ok()) return fail(UnwindStatus::kMalformed);
    if (++executed_ > kMaxInstructions) return fail(UnwindStatus::kTooComplex);
    switch (operation.action) {
      case Action::kUnknown:
        return fail(UnwindStatus::kTooComplex);
      case Action::kNothing:
        return;
      case Action::kAdvance:
        return go_to(location_ + static_cast<std::uintptr_t>(operation.value));
      case Action::kSetLocation:
        return go_to(static_cast<std::uintptr_t>(operation.value));
      case Action::kSetRule:
        return set_rule(operation);
      case Action::kRestoreRule:
        return restore_rule(operation.register_number);
      case Action::kRememberRow:
        return remember_row();
      case Action::kRestoreRow:
        return restore_row();
      case Action::kToggleSignature:
        row_.return_address_signed = !row_.return_address_signed;
        return;
      default:
        return set_cfa(operation);
    }
  }

  /// Sets the location. Fails if the location decreases.
  void go_to(std::uintptr_t location) noexcept {
    if (location < location_) return fail(UnwindStatus::kMalformed);
    location_ = location;
  }

  void set_cfa(const CallFrameOperation& operation) noexcept {
    CfaRule& cfa = row_.cfa;
    const bool changes_half =
        operation.action == Action::kSetCfaRegister || operation.action == Action::kSetCfaOffset;
    if (changes_half && cfa.kind != CfaRule::Kind::kRegisterPlusOffset) {
      return fail(UnwindStatus::kMalformed);
    }
    if (operation.action == Action::kSetCfaExpression) {
      cfa = {CfaRule::Kind::kExpression, 0, operation.expression_bytes, operation.value};
      return;
    }
    if (operation.register_number >= row_.registers.size()) {
      return fail(UnwindStatus::kTooComplex);
    }
    const bool sets_register = operation.action != Action::kSetCfaOffset;
    const bool sets_offset = operation.action != Action::kSetCfaRegister;
    cfa.kind = CfaRule::Kind::kRegisterPlusOffset;
    cfa.expression_bytes = 0;
    if (sets_register) cfa.register_number = static_cast<std::uint8_t>(operation.register_number);
    if (sets_offset) cfa.value = operation.value;
  }

  /// Ignores untracked registers, such as vectors, because no tracked register depends on them.
  void set_rule(const CallFrameOperation& operation) noexcept {
    if (operation.register_number >= row_.registers.size()) {
      row_.has_other_rules = true;
      return;
    }
    row_.registers[operation.register_number] = {operation.rule_kind, operation.expression_bytes,
                                                 operation.value};
  }

  void restore_rule(std::uint64_t number) noexcept {
    if (number < row_.registers.size()) row_.registers[number] = initial_registers_[number];
  }

  void remember_row() noexcept {
    if (remembered_count_ == kMaxRememberedRows) return fail(UnwindStatus::kTooComplex);
    static_assert(std::is_trivially_copyable_v<CallFrameRow>);
    std::memcpy(remembered_.data() + remembered_count_++ * sizeof row_, &row_, sizeof row_);
  }

  /// Restores the rules of the row remembered last, but keeps the location.
  void restore_row() noexcept {
    if (remembered_count_ == 0) return fail(UnwindStatus::kMalformed);
    const std::uintptr_t begin = row_.begin;
    std::memcpy(&row_, remembered_.data() + --remembered_count_ * sizeof row_, sizeof row_);
    row_.begin = row_.end = begin;
  }

  const FrameDescription& description_;
  CallFrameDecoder decoder_;
  UnwindStatus status_ = UnwindStatus::kFound;
  std::uintptr_t location_ = 0;
  std::size_t executed_ = 0;
  CallFrameRow row_;
  std::array<RegisterRule, arch::DwarfRegisters::kCount> initial_registers_{};
  /// Raw bytes, so that rows are not initialized before use.
  alignas(
      CallFrameRow) std::array<std::byte, kMaxRememberedRows * sizeof(CallFrameRow)> remembered_;
  std::size_t remembered_count_ = 0;
};

}  // namespace alloctap::elf
