/// Displaced instructions that were written anew, held against what they were.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "alloctap/arch/patch_refusal.hpp"
#include "alloctap/arch/x86_64/displaced_code.hpp"
#include "alloctap/arch/x86_64/relocated_code.hpp"
#include "tests/support/full_instruction.hpp"

namespace alloctap_test {

using alloctap::arch::FunctionCode;
using alloctap::arch::PatchRefusal;
using alloctap::arch::x86_64::DisplacedCode;
using alloctap::arch::x86_64::Flow;
using alloctap::arch::x86_64::Instruction;
using alloctap::arch::x86_64::RelocatedCode;

/// Code that was moved, with what it came from.
struct Moved {
  const DisplacedCode& from;
  RelocatedCode to;
  std::span<const std::byte> code;
  std::uintptr_t at;

  [[nodiscard]] std::uintptr_t place(std::size_t index) const { return at + to.offsets[index]; }
  [[nodiscard]] std::uintptr_t end(std::size_t index) const {
    return index + 1 < from.count ? place(index + 1) : at + to.size;
  }
  /// Where what was to go to `address` must go.
  [[nodiscard]] std::uintptr_t mapped(std::uintptr_t address) const {
    for (std::size_t i = 0; i < from.count; ++i) {
      if (from.instructions[i].address == address) return place(i);
    }
    return address;
  }
};

inline bool branches_alike(const Moved& moved, std::size_t index, const FullInstruction& original) {
  const Instruction& old = moved.from.instructions[index];
  const bool is_last = index + 1 == moved.from.count;
  const BranchWalk walk(moved.code, moved.at, original);
  const Walk taken = walk.run(moved.place(index), moved.end(index), true);
  const std::uintptr_t to = original.absolute(0);
  // Branches back to where the old instruction stood begin again: the walk does not leave.
  if (!taken.understood || taken.destination != moved.mapped(to))
    return moved.mapped(to) != to && to == old.address;
  if (original.mnemonic() == ZYDIS_MNEMONIC_CALL) return taken.pushed == original.end();
  if (original.mnemonic() == ZYDIS_MNEMONIC_JMP) return true;
  const Walk passed = walk.run(moved.place(index), moved.end(index), false);
  const std::uintptr_t next = is_last ? original.end() : moved.end(index);
  return passed.understood && passed.destination == next;
}

inline bool calls_alike(const Moved& moved, std::size_t index, const FullInstruction& original) {
  const std::size_t offset = moved.to.offsets[index];
  constexpr std::size_t kPushBytes = 13;
  const BranchWalk walk(moved.code, moved.at, original);
  const std::uintptr_t jump_at = moved.place(index) + kPushBytes;
  const Walk pushed = walk.run(moved.place(index), jump_at, true);
  const auto jump = FullInstruction::decode(moved.code.subspan(offset + kPushBytes), jump_at);
  return pushed.understood && pushed.pushed == original.end() && jump &&
         jump->mnemonic() == ZYDIS_MNEMONIC_JMP && jump->has_same_operand(original, 0);
}

inline bool does_same(const Moved& moved, std::size_t index) {
  const Instruction& old = moved.from.instructions[index];
  const auto original = FullInstruction::decode(old.code(), old.address);
  const auto now =
      FullInstruction::decode(moved.code.subspan(moved.to.offsets[index]), moved.place(index));
  if (!original || !now) return false;
  const bool is_branch =
      original->is_relative(0) && original->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  if (is_branch) return branches_alike(moved, index, *original);
  if (original->mnemonic() == ZYDIS_MNEMONIC_CALL) return calls_alike(moved, index, *original);
  return now->is_same_as(*original);
}

/// Whether code that does not end in a branch goes on behind the bytes that it came from.
inline bool goes_on(const Moved& moved) {
  const std::size_t last = moved.from.count - 1;
  const Instruction& old = moved.from.instructions[last];
  if (old.branches() || old.flow == Flow::kEnd || old.flow == Flow::kIndirectCall) return true;
  const auto original = FullInstruction::decode(old.code(), old.address);
  const auto first =
      FullInstruction::decode(moved.code.subspan(moved.to.offsets[last]), moved.place(last));
  const Walk walk =
      BranchWalk(moved.code, moved.at, *original).run(first->end(), moved.end(last), true);
  return walk.understood && walk.destination == old.end();
}

/// What came of moving a function's entry to `at`: a refusal, or whether it does the same there.
struct CodeMove {
  PatchRefusal refusal = PatchRefusal::kNone;
  bool is_same = true;
};

inline CodeMove move_entry(const FunctionCode& function, std::uintptr_t at) {
  const DisplacedCode from = alloctap::arch::x86_64::analyze_function(function);
  if (from.refusal != PatchRefusal::kNone) return {from.refusal};
  std::array<std::byte, alloctap::arch::x86_64::kTrampolineBytes> room{};
  const RelocatedCode to = alloctap::arch::x86_64::relocate(from, room, at);
  if (to.refusal != PatchRefusal::kNone) return {to.refusal};
  const Moved moved{from, to, room, at};
  CodeMove result{.is_same = goes_on(moved)};
  for (std::size_t i = 0; i < from.count; ++i) result.is_same &= does_same(moved, i);
  return result;
}

}  // namespace alloctap_test
