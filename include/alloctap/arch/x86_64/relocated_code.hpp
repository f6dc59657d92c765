/// Displaced instructions, written anew for another place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/arch/patch_refusal.hpp"
#include "alloctap/arch/x86_64/code_writer.hpp"
#include "alloctap/arch/x86_64/displaced_code.hpp"
#include "alloctap/arch/x86_64/instruction.hpp"

namespace alloctap::arch::x86_64 {

/// Room that any displaced code fits into: five conditional long jumps, the landing pad, the way
/// back.
inline constexpr std::size_t kTrampolineBytes = 128;

/// Code that does what `DisplacedCode` does and goes on behind it. Starts with a landing pad.
struct RelocatedCode {
  PatchRefusal refusal = PatchRefusal::kNone;
  std::uintptr_t refused_at = 0;
  std::size_t size = 0;
  /// Where each displaced instruction begins, from the start of the code.
  std::array<std::uint8_t, kPatchBytes> offsets{};
};

/// The parts of `relocate`, which is below.
class Relocator {
 public:
  Relocator(const DisplacedCode& displaced, std::span<std::byte> room, std::uintptr_t at) noexcept
      : displaced_(displaced), room_(room), at_(at) {}

  /// Twice: how long an instruction becomes does not depend on the map from old to new places, so
  /// the first pass finds the map that the second one uses.
  RelocatedCode run() noexcept {
    write();
    write();
    return result_;
  }

 private:
  void write() noexcept {
    CodeWriter writer(room_, at_);
    writer.landing_pad();
    for (std::size_t i = 0; i < displaced_.count; ++i) {
      result_.offsets[i] = static_cast<std::uint8_t>(writer.size());
      write_instruction(writer, displaced_.instructions[i]);
    }
    const Flow last = displaced_.instructions[displaced_.count - 1].flow;
    const bool goes_on = last != Flow::kEnd && last != Flow::kJump && last != Flow::kCall &&
                         last != Flow::kIndirectCall;
    if (goes_on) writer.jump(displaced_.end());
    result_.size = writer.size();
    if (!writer.fits()) refuse(PatchRefusal::kTrampolineFull, displaced_.start);
  }

  void write_instruction(CodeWriter& writer, const Instruction& instruction) noexcept {
    switch (instruction.flow) {
      case Flow::kJump:
        return writer.jump(new_place(instruction.destination));
      case Flow::kConditionalJump:
        return writer.jump_if(instruction.condition, new_place(instruction.destination));
      case Flow::kLoop:
        return write_loop(writer, instruction);
      case Flow::kCall:
        writer.push(instruction.end());
        return writer.jump(new_place(instruction.destination));
      case Flow::kIndirectCall:
        writer.push(instruction.end());
        return copy(writer, as_jump(instruction));
      default:
        return copy(writer, instruction);
    }
  }

  /// loop over; over: jmp next; jmp destination. The displacement is the last byte.
  void write_loop(CodeWriter& writer, const Instruction& instruction) noexcept {
    constexpr std::byte kOverShortJump{2};
    const std::uintptr_t to = new_place(instruction.destination);
    writer.put(instruction.code().first(std::size_t{instruction.length} - 1));
    writer.put(std::span(&kOverShortJump, 1));
    CodeWriter measure({}, writer.here() + 2);
    measure.jump(to);
    writer.put({0xEB, static_cast<unsigned>(measure.size())});
    writer.jump(to);
  }

  void copy(CodeWriter& writer, const Instruction& instruction) noexcept {
    const auto code = instruction.code();
    const std::size_t operand = instruction.operand_offset;
    if (operand == 0) return writer.put(code);
    // The displacement counts from the end of the instruction, behind what follows it.
    const std::size_t after = code.size() - operand - sizeof(std::uint32_t);
    if (!is_in_reach(writer.here() + code.size(), instruction.operand)) {
      return refuse(PatchRefusal::kOperandOutOfReach, instruction.address);
    }
    writer.put(code.first(operand));
    writer.put_displacement(instruction.operand - after);
    writer.put(code.last(after));
  }

  /// call through a register or word: FF /2. jmp: FF /4.
  static Instruction as_jump(Instruction call) noexcept {
    std::byte& modrm = call.bytes[call.modrm_offset];
    modrm = (modrm & std::byte{0xC7}) | std::byte{4 << 3};
    return call;
  }

  /// Where what stood at `old` stands now. In the first pass: somewhere near.
  [[nodiscard]] std::uintptr_t new_place(std::uintptr_t old) const noexcept {
    for (std::size_t i = 0; i < displaced_.count; ++i) {
      if (displaced_.instructions[i].address == old) return at_ + result_.offsets[i];
    }
    return old;
  }

  void refuse(PatchRefusal reason, std::uintptr_t address) noexcept {
    result_.refusal = reason;
    result_.refused_at = address;
  }

  const DisplacedCode& displaced_;
  std::span<std::byte> room_;
  std::uintptr_t at_;
  RelocatedCode result_;
};

/// Writes `displaced`, which was not refused, to `room`, which will stand at `at`.
///
/// Operands and destinations stay the same absolute addresses, but that branches to displaced
/// instructions go to where these stand now. Short branches become near ones, loop and jcxz go by
/// way of one. A call pushes the return address that it pushed before and jumps: whatever unwinds
/// the stack meanwhile sees the function and never this code. (That is what a shadow stack
/// forbids.) Branches reach everything; operands must be within 2 GiB. Allocates nothing.
inline RelocatedCode relocate(const DisplacedCode& displaced, std::span<std::byte> room,
                              std::uintptr_t at) noexcept {
  return Relocator(displaced, room, at).run();
}

}  // namespace alloctap::arch::x86_64
