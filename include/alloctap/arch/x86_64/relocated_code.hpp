/// An x86-64 assembler, and the relocation of displaced instructions into a trampoline.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <span>

#include "alloctap/arch/patch_refusal.hpp"
#include "alloctap/arch/x86_64/displaced_code.hpp"
#include "alloctap/arch/x86_64/instruction.hpp"

namespace alloctap::arch::x86_64 {

/// Length of a jump to any address, encoded as jmp [rip+0] followed by the address.
inline constexpr std::size_t kFarJumpBytes = 14;

/// Returns whether the rel32 displacement of an instruction that ends at `from` reaches `to`.
constexpr bool is_in_reach(std::uintptr_t from, std::uintptr_t to) noexcept {
  const auto distance = static_cast<std::int64_t>(to - from);
  return distance >= std::numeric_limits<std::int32_t>::min() &&
         distance <= std::numeric_limits<std::int32_t>::max();
}

/// Appends code to `room`, which will be mapped at `address`. Drops bytes that do not fit, but
/// counts them in `size()`.
class CodeWriter {
 public:
  CodeWriter(std::span<std::byte> room, std::uintptr_t address) noexcept
      : room_(room), address_(address) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::uintptr_t here() const noexcept { return address_ + size_; }
  [[nodiscard]] bool fits() const noexcept { return size_ <= room_.size(); }

  void put(std::initializer_list<unsigned> bytes) noexcept {
    for (const unsigned byte : bytes) put_byte(static_cast<std::byte>(byte));
  }
  void put(std::span<const std::byte> bytes) noexcept {
    for (const std::byte byte : bytes) put_byte(byte);
  }
  template <class Number>
  void put_number(Number number) noexcept {
    put(std::as_bytes(std::span(&number, 1)));
  }

  /// Writes the distance from the end of these 4 bytes to `to`. Precondition: `to` is in reach.
  void put_displacement(std::uintptr_t to) noexcept {
    put_number(static_cast<std::uint32_t>(to - (here() + sizeof(std::uint32_t))));
  }

  /// Writes jmp rel32 or, if `to` is out of reach, the long form of `kFarJumpBytes`.
  void jump(std::uintptr_t to) noexcept {
    if (is_in_reach(here() + kNearJumpBytes, to)) {
      put({0xE9});
      return put_displacement(to);
    }
    put({0xFF, 0x25, 0, 0, 0, 0});
    put_number(std::uint64_t{to});
  }

  /// Writes a jump through the word at `pointer`, which is in reach.
  void jump_through(std::uintptr_t pointer) noexcept {
    put({0xFF, 0x25});
    put_displacement(pointer);
  }

  /// Writes jcc rel32 or, if `to` is out of reach, an inverse jcc over a long jump.
  void jump_if(std::uint8_t condition, std::uintptr_t to) noexcept {
    if (is_in_reach(here() + kNearBranchBytes, to)) {
      put({0x0F, 0x80U + condition});
      return put_displacement(to);
    }
    put({0x70U + (condition ^ 1U), kFarJumpBytes});
    put({0xFF, 0x25, 0, 0, 0, 0});
    put_number(std::uint64_t{to});
  }

  /// Pushes `value` without changing registers, by push imm32 and a store of the upper half.
  void push(std::uintptr_t value) noexcept {
    put({0x68});
    put_number(static_cast<std::uint32_t>(value));
    put({0xC7, 0x44, 0x24, 0x04});
    put_number(static_cast<std::uint32_t>(std::uint64_t{value} >> 32));
  }

  void landing_pad() noexcept { put({0xF3, 0x0F, 0x1E, 0xFA}); }

 private:
  static constexpr std::size_t kNearJumpBytes = 5;
  static constexpr std::size_t kNearBranchBytes = 6;

  void put_byte(std::byte byte) noexcept {
    if (size_ < room_.size()) room_[size_] = byte;
    ++size_;
  }

  std::span<std::byte> room_;
  std::uintptr_t address_;
  std::size_t size_ = 0;
};

/// Suffices for any displaced code: at most five conditional long jumps, a landing pad, the jump
/// back.
inline constexpr std::size_t kTrampolineBytes = 128;

/// The result of `relocate`: code that executes the displaced instructions and jumps to the
/// instruction after them. The code begins with a landing pad.
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
  /// destination. The last byte of loop and jcxz is the displacement.
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
