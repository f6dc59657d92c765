/// The targets of x86-64. Included by targets.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define FORM_TARGETS(X)             \
  X(load_relative, 7)               \
  X(compare_relative, 7)            \
  X(store_relative, 7)              \
  X(call_near, 7)                   \
  X(call_through_word, 7)           \
  X(call_register, 7)               \
  X(jump_short, 7)                  \
  X(jump_near_if, 7)                \
  X(jump_if_zero_count, 7)          \
  X(loop_in_place, 7)               \
  X(jump_inside, 7)                 \
  X(branch_widened_inside, 7)       \
  X(push_and_move, 7)               \
  X(pushes, 7)                      \
  X(landing_pad, 7)                 \
  X(landing_pad_one_instruction, 7) \
  X(one_instruction, 7)             \
  X(thunk, 7)                       \
  X(padded_with_nops, 0)            \
  X(padded_with_breakpoints, 0)     \
  X(across_words, 7)

#define REFUSED_TARGETS(X)                     \
  X(branches_back, "branches into the bytes")  \
  X(loops_to_entry, "jumps back to its first") \
  X(reads_itself, "reads the bytes")           \
  X(too_short, "shorter than a jump")          \
  X(zeros_behind, "shorter than a jump")       \
  X(unknown, "does not know an instruction")   \
  X(has_breakpoint, "a breakpoint stands")

/// What threads run while it is patched and restored.
#define TOGGLED_TARGETS(X) X(push_and_move) X(pushes) X(call_register) X(across_words)

inline int call_target(Target target, int x, TargetHelper helper) { return target(x, helper); }
/// Frames of `call_target` itself.
inline constexpr int kCallFrames = 0;

/// How far a jump reaches, up and down.
inline constexpr std::uintptr_t kBranchReach = std::uintptr_t{2} << 30;

/// A jump as tools write it.
using JumpBytes = std::array<unsigned char, 5>;
inline JumpBytes jump_bytes(std::uintptr_t from, std::uintptr_t to) {
  JumpBytes jump{0xE9};
  const auto distance = static_cast<std::int32_t>(to - from - jump.size());
  std::memcpy(jump.data() + 1, &distance, sizeof distance);
  return jump;
}

/// read(2) with the thread parked between its second and its third instruction.
extern "C" long target_parked_read(int descriptor, void* buffer, std::size_t bytes);
extern "C" const std::byte target_parked_read_end[];
