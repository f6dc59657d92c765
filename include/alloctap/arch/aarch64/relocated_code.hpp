/// An AArch64 assembler, and the relocation of a displaced instruction into a trampoline.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "alloctap/arch/aarch64/displaced_code.hpp"
#include "alloctap/arch/aarch64/instruction.hpp"
#include "alloctap/arch/patch_refusal.hpp"

namespace alloctap::arch::aarch64 {

/// Register numbers. `kScratch` and `kSecondScratch` are the ABI's scratch registers for linker
/// veneers, so any call may change them.
inline constexpr std::uint32_t kScratch = 16;
inline constexpr std::uint32_t kSecondScratch = 17;
inline constexpr std::uint32_t kLinkRegister = 30;
inline constexpr std::uint32_t kZeroRegister = 31;

/// Returns whether a branch b at `from` reaches `to`, up to 128 MiB away. Both are aligned to 4.
constexpr bool is_branch_in_reach(std::uintptr_t from, std::uintptr_t to) noexcept {
  constexpr std::int64_t kReach = std::int64_t{1} << 27;
  const auto distance = static_cast<std::int64_t>(to - from);
  return distance >= -kReach && distance < kReach;
}

/// Encodes a branch b from `from` to `to`, which is in reach.
constexpr std::uint32_t branch_word(std::uintptr_t from, std::uintptr_t to) noexcept {
  return 0x14000000U | (static_cast<std::uint32_t>((to - from) >> 2) & 0x03FFFFFFU);
}

/// Returns whether an ldr at `from` reaches the word at `to`, up to 1 MiB away.
constexpr bool is_load_in_reach(std::uintptr_t from, std::uintptr_t to) noexcept {
  constexpr std::int64_t kReach = std::int64_t{1} << 20;
  const auto distance = static_cast<std::int64_t>(to - from);
  return distance >= -kReach && distance < kReach;
}

/// Appends instructions to `room`, which will be mapped at `address`, aligned to 8. Precondition:
/// `room` is large enough. The last eight bytes of `room` are reserved for a literal.
class CodeWriter {
 public:
  CodeWriter(std::span<std::byte> room, std::uintptr_t address) noexcept
      : room_(room), address_(address) {}

  [[nodiscard]] std::uintptr_t here() const noexcept { return address_ + size_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Returns whether every branch and load so far is in reach.
  [[nodiscard]] bool reaches() const noexcept { return reaches_; }

  void put(std::uint32_t word) noexcept {
    std::memcpy(room_.data() + size_, &word, sizeof word);
    size_ += sizeof word;
  }
  void landing_pad() noexcept { put(0xD503245F); }
  void jump(std::uintptr_t to) noexcept {
    reaches_ &= is_branch_in_reach(here(), to);
    put(branch_word(here(), to));
  }
  void jump_to_register(std::uint32_t number) noexcept { put(0xD61F0000 | number << 5); }
  void move_register(std::uint32_t to, std::uint32_t from) noexcept {
    put(0xAA0003E0 | from << 16 | to);
  }
  /// Loads the word at `pointer` into a register.
  void load(std::uint32_t number, std::uintptr_t pointer) noexcept {
    reaches_ &= is_load_in_reach(here(), pointer);
    const auto words = static_cast<std::uint32_t>((pointer - here()) >> 2);
    put(0x58000000 | (words & 0x7FFFF) << 5 | number);
  }
  /// Stores `value` in the literal and loads it into a register. Call it at most once, because
  /// there is one literal.
  void load_number(std::uint32_t number, std::uint64_t value) noexcept {
    const std::size_t literal = room_.size() - sizeof value;
    std::memcpy(room_.data() + literal, &value, sizeof value);
    load(number, address_ + literal);
  }

 private:
  std::span<std::byte> room_;
  std::uintptr_t address_;
  std::size_t size_ = 0;
  bool reaches_ = true;
};

/// Room for six instructions and a literal. The instructions are a landing pad, a signing
/// instruction, at most three that replace the displaced instruction, and the jump back.
inline constexpr std::size_t kTrampolineBytes = 6 * kInstructionBytes + sizeof(std::uint64_t);

/// The result of `relocate`: code that executes the displaced instruction and jumps to the
/// instruction after it. The code begins with a landing pad.
struct RelocatedCode {
  PatchRefusal refusal = PatchRefusal::kNone;
  /// Size of the code in bytes, without the literal.
  std::size_t size = 0;
};

namespace relocating {

constexpr std::uint32_t low_register(std::uint32_t word) noexcept { return word & 31; }
constexpr std::uint32_t next_register(std::uint32_t word) noexcept { return word >> 5 & 31; }

/// Returns the conditional branch `word` with its distance set to two instructions, so that it
/// skips one.
constexpr std::uint32_t over_one_instruction(std::uint32_t word) noexcept {
  constexpr std::uint32_t kTestBit = 0x36000000;
  const bool has_short_field = (word & 0x7E000000) == kTestBit;
  const std::uint32_t field = has_short_field ? 0x0007FFE0 : 0x00FFFFE0;
  return (word & ~field) | 2U << 5;
}

/// Returns `word`, a blr, as a br that reads `scratch` in place of the link register.
constexpr std::uint32_t as_jump(std::uint32_t word, std::uint32_t scratch) noexcept {
  constexpr std::uint32_t kCalls = 1U << 21;
  std::uint32_t jump = word & ~kCalls;
  if (low_register(word) == kLinkRegister) jump = (jump & ~31U) | scratch;
  if (next_register(word) == kLinkRegister) jump = (jump & ~(31U << 5)) | scratch << 5;
  return jump;
}

/// Returns `word`, a literal load, changed to a load from the address in register `base`. `kLoads`
/// has four entries for integer registers, the last of which is prfm, then four for floating-point
/// registers, each by size (the upper two bits).
constexpr std::uint32_t load_through(std::uint32_t word, std::uint32_t base) noexcept {
  constexpr std::array<std::uint32_t, 8> kLoads{0xB9400000, 0xF9400000, 0xB9800000, 0xF9800000,
                                                0xBD400000, 0xFD400000, 0x3DC00000, 0};
  const std::uint32_t kind = (word >> 26 & 1) << 2 | word >> 30;
  return kLoads[kind] | base << 5 | low_register(word);
}

inline void write_load(CodeWriter& writer, const Instruction& instruction) noexcept {
  const bool is_integer = (instruction.word >> 26 & 1) == 0 && instruction.loaded_bytes != 0;
  const std::uint32_t to = low_register(instruction.word);
  const std::uint32_t base = is_integer && to != kZeroRegister ? to : kSecondScratch;
  writer.load_number(base, instruction.target);
  writer.put(load_through(instruction.word, base));
}

/// Writes an indirect call as a jump, with the original return address in the link register.
inline void write_indirect_call(CodeWriter& writer, const Instruction& instruction) noexcept {
  const std::uint32_t word = instruction.word;
  const bool has_second =
      low_register(word) == kSecondScratch || next_register(word) == kSecondScratch;
  const std::uint32_t scratch = has_second ? kScratch : kSecondScratch;
  const std::uint32_t jump = as_jump(word, scratch);
  if ((jump | 1U << 21) != word) writer.move_register(scratch, kLinkRegister);
  writer.load_number(kLinkRegister, instruction.end());
  writer.put(jump);
}

/// Writes the relocated form of `instruction`. Returns whether execution may continue after it.
inline bool write_instruction(CodeWriter& writer, const Instruction& instruction) noexcept {
  switch (instruction.form) {
    case Form::kJump:
      writer.jump(instruction.target);
      return false;
    case Form::kConditionalJump:
      writer.put(over_one_instruction(instruction.word));
      writer.jump(instruction.end());
      writer.jump(instruction.target);
      return false;
    case Form::kCall:
      writer.load_number(kLinkRegister, instruction.end());
      writer.jump(instruction.target);
      return false;
    case Form::kIndirectCall:
      write_indirect_call(writer, instruction);
      return false;
    case Form::kIndirectJump:
      writer.put(instruction.word);
      return false;
    case Form::kAddress:
    case Form::kPageAddress:
      writer.load_number(low_register(instruction.word), instruction.target);
      return true;
    case Form::kLoad:
      write_load(writer, instruction);
      return true;
    default:
      writer.put(instruction.word);
      return true;
  }
}

}  // namespace relocating

/// Writes the relocated form of `displaced` to `room`, which will be mapped at `at`. Preconditions:
/// `displaced` has no refusal, and `at` is aligned to 8. Allocates nothing. If the result's refusal
/// is `kOperandOutOfReach`, another `at` may work.
///
/// Keeps all absolute addresses, operands and destinations. A displaced call becomes a jump with
/// the original return address in the link register, so that unwinders never see the trampoline.
/// A jump pushes nothing on a shadow stack, so with a shadow stack the called function's return
/// would be rejected. Clobbers x17, and x16 if an indirect call uses x17 and the link register.
///
/// All branches are b, with a reach of 128 MiB. Indirect branches would need landing pads, and
/// returns would need a matching shadow stack.
inline RelocatedCode relocate(const DisplacedCode& displaced,
                              std::span<std::byte, kTrampolineBytes> room,
                              std::uintptr_t at) noexcept {
  CodeWriter writer(room, at);
  writer.landing_pad();
  if (displaced.signing != 0) writer.put(displaced.signing);
  const bool goes_on = relocating::write_instruction(writer, displaced.instruction);
  if (goes_on) writer.jump(displaced.end());
  return {writer.reaches() ? PatchRefusal::kNone : PatchRefusal::kOperandOutOfReach, writer.size()};
}

}  // namespace alloctap::arch::aarch64
