/// Selects the instruction that an entry patch displaces, and checks that the patch is safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/arch/aarch64/instruction.hpp"
#include "alloctap/arch/patch_refusal.hpp"

namespace alloctap::arch::aarch64 {

/// Length of b, the branch that replaces the displaced instruction.
inline constexpr std::size_t kPatchBytes = kInstructionBytes;

/// The displaced instruction: the function's first one or, after a landing pad, the second. The
/// landing pad stays in place, because indirect calls under BTI require it. If `refusal` is not
/// `kNone`, the instruction at `refused_at` caused the refusal, and other members are meaningless.
///
/// `signing` is the landing pad's word if the pad signs the return address (paciasp or pacibsp),
/// otherwise 0. The pad executes before the patch's branch, so the stub must remove the signature
/// before it enters the replacement.
struct DisplacedCode {
  PatchRefusal refusal = PatchRefusal::kNone;
  std::uintptr_t refused_at = 0;
  std::uint32_t signing = 0;
  Instruction instruction;

  [[nodiscard]] std::uintptr_t start() const noexcept { return instruction.address; }
  [[nodiscard]] std::uintptr_t end() const noexcept { return instruction.end(); }
  /// Returns whether the replaced bytes overlap `[address, address + bytes)`.
  [[nodiscard]] bool overlaps(std::uintptr_t address, std::size_t bytes) const noexcept {
    return address < end() && start() < address + bytes;
  }
  void refuse(PatchRefusal reason, std::uintptr_t address) noexcept {
    refusal = reason;
    refused_at = address;
  }
};

namespace displacing {

/// Returns why an instruction cannot be moved, or `kNone`. A second landing pad cannot be moved
/// either, because indirect branches may lead to the pad.
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

/// Returns why `instruction`, displaced or not, prevents the patch, or `kNone` if it does not.
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

/// Finds the instruction to displace, and checks that no word of `function` depends on that
/// instruction. Allows calls to the function's entry, but refuses jumps to the entry, because they
/// may be loops. Allows invalid words, because they must be data. Allocates nothing.
///
/// Refuses to displace an exclusive load or store, because a pair of them is guaranteed to succeed
/// eventually only if both are close together (DDI 0487, "Load-Exclusive and Store-Exclusive
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
