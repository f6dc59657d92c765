/// The code that a patch analyzes, the destination of a thunk, and the reasons that refuse a patch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace alloctap::arch {

/// The reason why a function cannot be patched, or `kNone` if it can.
enum class PatchRefusal : std::uint8_t {
  kNone,
  kTooShort,
  kUnknownInstruction,
  kBreakpoint,
  kUnsupportedInstruction,
  kBranchIntoPatch,
  kBranchToEntry,
  kReadsPatchedBytes,
  kReturnIntoPatch,
  kCallIntoPatch,
  kStackRelativeCall,
  kCallUnderShadowStack,
  kOperandOutOfReach,
  kTrampolineFull,
};

inline constexpr std::uint8_t kPatchRefusals = 14;

/// Returns a clause to be printed after "because".
constexpr const char* describe(PatchRefusal refusal) noexcept {
  switch (refusal) {
    case PatchRefusal::kNone:
      return "nothing speaks against it";
    case PatchRefusal::kTooShort:
      return "the function, with the padding behind it, is shorter than a jump";
    case PatchRefusal::kUnknownInstruction:
      return "the decoder does not know an instruction of it";
    case PatchRefusal::kBreakpoint:
      return "a breakpoint stands where the jump would";
    case PatchRefusal::kUnsupportedInstruction:
      return "an instruction that the jump displaces means something else at another place";
    case PatchRefusal::kBranchIntoPatch:
      return "the function branches into the bytes that the jump replaces";
    case PatchRefusal::kBranchToEntry:
      return "the function jumps back to its first instruction, which may be a loop and no call";
    case PatchRefusal::kReadsPatchedBytes:
      return "the function reads the bytes that the jump replaces";
    case PatchRefusal::kReturnIntoPatch:
      return "a displaced call would return into the bytes that the jump replaces";
    case PatchRefusal::kCallIntoPatch:
      return "a displaced call goes into the bytes that the jump replaces";
    case PatchRefusal::kStackRelativeCall:
      return "a displaced call finds its destination by the stack pointer";
    case PatchRefusal::kCallUnderShadowStack:
      return "a displaced call would not match this thread's shadow stack";
    case PatchRefusal::kOperandOutOfReach:
      return "a displaced instruction would not reach its operand from the trampoline";
    case PatchRefusal::kTrampolineFull:
      return "the displaced instructions do not fit into a trampoline";
  }
  return "of a reason that has no name";
}

/// The code of a function. `bytes` is the code that runs at `address`, possibly a copy or read from
/// a file. `behind` is the readable memory after the function, which is searched for padding.
struct FunctionCode {
  std::uintptr_t address = 0;
  std::span<const std::byte> bytes;
  std::span<const std::byte> behind;
};

/// The destination of a thunk, a function that only jumps to another one: `address`, or the value
/// of the word at `pointer`.
struct ThunkDestination {
  std::uintptr_t address = 0;
  std::uintptr_t pointer = 0;
};

}  // namespace alloctap::arch
