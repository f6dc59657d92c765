/// The instruction that gives way to a branch at the entry of a function, and whether it may.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/arch/aarch64/instruction.hpp"
#include "alloctap/arch/function_code.hpp"
#include "alloctap/arch/patch_refusal.hpp"

namespace alloctap::arch::aarch64 {

/// The bytes of the branch that replaces it: b.
inline constexpr std::size_t kPatchBytes = kInstructionBytes;

/// One instruction, the function's first, or the one behind its landing pad, which stays: where
/// branch targets are checked, calls through pointers must find it. Where `refusal` is not kNone it
/// applies to `refused_at`, and the rest means nothing.
///
/// `signing`, paciasp or pacibsp, is the landing pad that signs the return address; 0 where there
/// is none. It has run when the displaced instruction does, and when the replacement is entered it
/// must not have.
struct DisplacedCode {
  PatchRefusal refusal = PatchRefusal::kNone;
  std::uintptr_t refused_at = 0;
  std::uint32_t signing = 0;
  Instruction instruction;

  [[nodiscard]] std::uintptr_t start() const noexcept { return instruction.address; }
  [[nodiscard]] std::uintptr_t end() const noexcept { return instruction.end(); }
  /// Whether `[address, address + bytes)` has a byte that is replaced.
  [[nodiscard]] bool overlaps(std::uintptr_t address, std::size_t bytes) const noexcept {
    return address < end() && start() < address + bytes;
  }
  void refuse(PatchRefusal reason, std::uintptr_t address) noexcept {
    refusal = reason;
    refused_at = address;
  }
};

/// The parts of `analyze_function`, which is below.
namespace displacing {

/// What is wrong with moving an instruction. A second landing pad waits for branches through
/// pointers too.
constexpr PatchRefusal refusal_of(Form form) noexcept {
  switch (form) {
    case Form::kBreakpoint:
      return PatchRefusal::kBreakpoint;
    case Form::kBoundToPlace:
    case Form::kLandingPad:
      return PatchRefusal::kUnsupportedInstruction;
    case Form::kUnknownBranch:
    case Form::kUnknown:
      return PatchRefusal::kUnknownInstruction;
    default:
      return PatchRefusal::kNone;
  }
}

/// Fills in the instruction that is displaced.
inline void choose(const FunctionCode& function, DisplacedCode& displaced) noexcept {
  const auto too_short = [&](std::size_t bytes) { return function.bytes.size() < bytes; };
  if (too_short(kPatchBytes)) return displaced.refuse(PatchRefusal::kTooShort, function.address);
  if (function.address % kInstructionBytes != 0) {
    return displaced.refuse(PatchRefusal::kUnknownInstruction, function.address);
  }
  displaced.instruction = decode_instruction(function.bytes, function.address);
  if (displaced.instruction.is_pad()) {
    const Instruction pad = displaced.instruction;
    if (too_short(2 * kPatchBytes)) return displaced.refuse(PatchRefusal::kTooShort, pad.address);
    if (pad.form == Form::kSigningPad) displaced.signing = pad.word;
    displaced.instruction =
        decode_instruction(function.bytes.subspan(kInstructionBytes), pad.end());
  }
  displaced.refuse(refusal_of(displaced.instruction.form), displaced.start());
}

/// What is wrong with an instruction anywhere in the function, the displaced one included.
inline PatchRefusal refusal_anywhere(const FunctionCode& function, const DisplacedCode& displaced,
                                     const Instruction& instruction) noexcept {
  const std::uintptr_t to = instruction.target;
  const bool is_entry = to == function.address;
  switch (instruction.form) {
    case Form::kCall:
    case Form::kJump:
    case Form::kConditionalJump:
      if (is_entry && instruction.form != Form::kCall) return PatchRefusal::kBranchToEntry;
      return !is_entry && to == displaced.start() ? PatchRefusal::kBranchIntoPatch
                                                  : PatchRefusal::kNone;
    case Form::kLoad:
      return displaced.overlaps(to, instruction.loaded_bytes) ? PatchRefusal::kReadsPatchedBytes
                                                              : PatchRefusal::kNone;
    case Form::kAddress:
      return !is_entry && displaced.overlaps(to, 1) ? PatchRefusal::kReadsPatchedBytes
                                                    : PatchRefusal::kNone;
    case Form::kUnknownBranch:
      return PatchRefusal::kUnknownInstruction;
    default:
      return PatchRefusal::kNone;
  }
}

}  // namespace displacing

/// Finds what a branch at the entry of `function` displaces, and looks at every word of the
/// function to see that nothing in it depends on that word. Calls of the entry are calls; jumps to
/// it may be loops. Words that are no instructions are data, and do no harm. Allocates nothing.
///
/// An exclusive load is not displaced: with the store in another place, the architecture no longer
/// promises that this succeeds at some time (DDI 0487, "Load-Exclusive and Store-Exclusive
/// instruction usage restrictions").
inline DisplacedCode analyze_function(const FunctionCode& function) noexcept {
  DisplacedCode displaced;
  displacing::choose(function, displaced);
  if (displaced.refusal != PatchRefusal::kNone) return displaced;
  const std::size_t words = function.bytes.size() / kInstructionBytes;
  for (std::size_t i = 0; i < words && displaced.refusal == PatchRefusal::kNone; ++i) {
    const std::size_t offset = i * kInstructionBytes;
    const std::uintptr_t at = function.address + offset;
    const Instruction instruction = decode_instruction(function.bytes.subspan(offset), at);
    displaced.refuse(displacing::refusal_anywhere(function, displaced, instruction), at);
  }
  return displaced;
}

}  // namespace alloctap::arch::aarch64
