/// Runs call frame instructions: from the description of a function to its rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/elf/call_frame.hpp"
#include "alloctap/elf/call_frame_decoder.hpp"
#include "alloctap/elf/eh_frame_header.hpp"

namespace alloctap::elf {

/// Yields the rows of one description by ascending address. About 4 KB, meant for the stack;
/// allocates nothing, reads only the description's instructions, and ends after
/// `kMostInstructions` of them. Runs anywhere.
class CallFrameInterpreter {
 public:
  /// Compilers need one; what is written by hand, rarely two.
  static constexpr std::size_t kMostRememberedRows = 8;
  static constexpr std::size_t kMostInstructions = std::size_t{1} << 16;

  /// Refers to `description`.
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

  /// Goes to the next row that is not empty. False behind the last one, and from where something
  /// is wrong: then `status` tells what.
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

  /// The row that `next` went to.
  [[nodiscard]] const CallFrameRow& row() const noexcept { return row_; }
  /// kFound as long as nothing is wrong.
  [[nodiscard]] UnwindStatus status() const noexcept { return status_; }

 private:
  using Action = CallFrameOperation::Action;

  [[nodiscard]] bool running() const noexcept { return status_ == UnwindStatus::kFound; }

  /// The first reason counts.
  void fail(UnwindStatus reason) noexcept {
    if (running()) status_ = reason;
  }

  void set_return_address(std::uint64_t number) noexcept {
    if (number >= row_.registers.size()) return fail(UnwindStatus::kTooComplex);
    row_.return_address_register = static_cast<std::uint8_t>(number);
  }

  void execute_next() noexcept {
    const CallFrameOperation operation = decoder_.next();
    if (!decoder_.ok()) return fail(UnwindStatus::kMalformed);
    if (++executed_ > kMostInstructions) return fail(UnwindStatus::kTooComplex);
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

  /// Locations never go back.
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

  /// Registers that are not kept, such as vectors, lead to no other.
  void set_rule(const CallFrameOperation& operation) noexcept {
    if (operation.register_number >= row_.registers.size()) return;
    row_.registers[operation.register_number] = {operation.rule_kind, operation.expression_bytes,
                                                 operation.value};
  }

  void restore_rule(std::uint64_t number) noexcept {
    if (number < row_.registers.size()) row_.registers[number] = initial_registers_[number];
  }

  void remember_row() noexcept {
    if (remembered_count_ == kMostRememberedRows) return fail(UnwindStatus::kTooComplex);
    remembered_[remembered_count_++] = row_;
  }

  /// The rules come back, and the location stays.
  void restore_row() noexcept {
    if (remembered_count_ == 0) return fail(UnwindStatus::kMalformed);
    const std::uintptr_t begin = row_.begin;
    row_ = remembered_[--remembered_count_];
    row_.begin = row_.end = begin;
  }

  const FrameDescription& description_;
  CallFrameDecoder decoder_;
  UnwindStatus status_ = UnwindStatus::kFound;
  std::uintptr_t location_ = 0;
  std::size_t executed_ = 0;
  CallFrameRow row_;
  std::array<RegisterRule, arch::DwarfRegisters::kCount> initial_registers_{};
  std::array<CallFrameRow, kMostRememberedRows> remembered_;
  std::size_t remembered_count_ = 0;
};

/// Writes the row that holds at `pc` to `row`, whose content is only of value with kFound. For a
/// return address, ask for the address before it, unless a signal frame led there: the call may be
/// its function's last instruction. Needs about 5 KB of stack. Runs anywhere.
inline UnwindStatus find_row(const UnwindTables& tables, std::uintptr_t pc,
                             CallFrameRow& row) noexcept {
  const FoundDescription found = find_frame_description(tables, pc);
  if (found.status != UnwindStatus::kFound) return found.status;
  CallFrameInterpreter interpreter(found.description);
  while (interpreter.next()) {
    if (pc >= interpreter.row().end) continue;
    row = interpreter.row();
    return UnwindStatus::kFound;
  }
  // The rows of a description without an error cover it.
  return interpreter.status();
}

}  // namespace alloctap::elf
