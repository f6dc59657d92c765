/// An interpreter of call frame instructions, which computes the rows of one function's FDE.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "alloctap/elf/call_frame.hpp"
#include "alloctap/elf/call_frame_decoder.hpp"
#include "alloctap/elf/eh_frame_header.hpp"

namespace alloctap::elf {

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

  /// Skips rows that end at or before `pc`, up to the first instruction that
  /// `run_common_instruction` does not execute. Call `next` afterwards. A fast path, because dozens
  /// of rows may precede a call, and every call address of the process is looked up.
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

  /// Keeps the first error.
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
  /// Returns true if the next instruction advances beyond `pc`, or is a long form of advance.
  /// Returns false if it is any other instruction.
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

  /// Returns the length of the instruction that it executed; 0 if it does not execute this
  /// instruction, or if the operand exceeds one byte.
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
