/// Rewrites displaced instructions for execution in a trampoline.
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

/// Suffices for any displaced code: at most five conditional long jumps, a landing pad, the jump
/// back.
inline constexpr std::size_t kTrampolineBytes = 128;

/// The result of `relocate`: code that executes the displaced instructions and jumps to the one
/// after them. The code begins with a landing pad.
struct RelocatedCode {
  PatchRefusal refusal = PatchRefusal::kNone;
  std::uintptr_t refused_at = 0;
  std::size_t size = 0;
  /// Offset of each displaced instruction's relocated form in the code.
  std::array<std::uint8_t, kPatchBytes> offsets{};
};

class Relocator {
 public:
  Relocator(const DisplacedCode& displaced, std::span<std::byte> room, std::uintptr_t at) noexcept
      : displaced_(displaced), room_(room), at_(at) {}

  /// Makes two passes, because branches need the new addresses of displaced instructions. The first
  /// pass computes the new addresses. One such pass suffices, because an instruction's new length
  /// does not depend on any new address.
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

  /// Writes the loop or jcxz instruction, a short jump to the next instruction, and a jump to the
  /// destination. The loop or jcxz branches over the short jump; its displacement is its last byte.
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
    // The displacement counts from the instruction's end, after any immediate.
    const std::size_t after = code.size() - operand - sizeof(std::uint32_t);
    if (!is_in_reach(writer.here() + code.size(), instruction.operand)) {
      return refuse(PatchRefusal::kOperandOutOfReach, instruction.address);
    }
    writer.put(code.first(operand));
    writer.put_displacement(instruction.operand - after);
    writer.put(code.last(after));
  }

  /// Returns `call` (FF /2), through a register or a word in memory, changed to jmp (FF /4).
  static Instruction as_jump(Instruction call) noexcept {
    std::byte& modrm = call.bytes[call.modrm_offset];
    modrm = (modrm & std::byte{0xC7}) | std::byte{4 << 3};
    return call;
  }

  /// Returns the new address of the instruction at `old`, or `old` if it is not displaced. The
  /// result is not final in the first pass.
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

/// Relocates `displaced`, which was not refused, into `room`, which will be mapped at `at`.
///
/// Keeps absolute operands and destinations, except that branches to displaced instructions go to
/// their new addresses. Short branches become near ones. A loop or jcxz, which has only a short
/// form, branches to a near jump. A call becomes a push of its original return address and a jump,
/// so that unwinders never see the trampoline. A shadow stack would reject the return to the pushed
/// address. Branches reach any address; operands must be within 2 GiB. Allocates nothing.
inline RelocatedCode relocate(const DisplacedCode& displaced, std::span<std::byte> room,
                              std::uintptr_t at) noexcept {
  return Relocator(displaced, room, at).run();
}

}  // namespace alloctap::arch::x86_64
