/// The targets of AArch64. Included by targets.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define FORM_TARGETS(X)             \
  X(jump, 7)                        \
  X(jump_if_negative, 7)            \
  X(jump_if_zero, 7)                \
  X(jump_if_not_zero, 7)            \
  X(jump_if_bit_clear, 7)           \
  X(jump_if_bit_set, 7)             \
  X(call_near, 7)                   \
  X(call_register, 7)               \
  X(address, 7)                     \
  X(page_address, 7)                \
  X(load_w, 7)                      \
  X(load_x, 7)                      \
  X(load_sw, 7)                     \
  X(load_s, 7)                      \
  X(load_d, 7)                      \
  X(load_q, 7)                      \
  X(load_nothing, 7)                \
  X(prefetch, 7)                    \
  X(nothing, 7)                     \
  X(pushes, 7)                      \
  X(landing_pad, 7)                 \
  X(landing_pad_one_instruction, 7) \
  X(landing_pad_for_all, 7)         \
  X(landing_pad_and_signing, 7)     \
  X(signing, 7)                     \
  X(signing_by_second_key, 7)       \
  X(signing_then_authenticating, 7) \
  X(signing_then_load, 7)           \
  X(signing_then_jump_if_zero, 7)   \
  X(signing_then_call, 7)           \
  X(one_instruction, 7)             \
  X(thunk, 7)                       \
  X(one_word, 0)

#define REFUSED_TARGETS(X)                             \
  X(branches_back, "branches into the bytes")          \
  X(calls_behind_signing, "branches into the bytes")   \
  X(loops_to_entry, "jumps back to its first")         \
  X(reads_itself, "reads the bytes")                   \
  X(takes_own_address, "reads the bytes")              \
  X(only_a_pad, "shorter than a jump")                 \
  X(only_signing, "shorter than a jump")               \
  X(unknown, "does not know an instruction")           \
  X(has_breakpoint, "a breakpoint stands")             \
  X(two_pads, "means something else at another place") \
  X(loads_exclusively, "means something else at another place")

/// What threads run while it is patched and restored.
#define TOGGLED_TARGETS(X) X(pushes) X(signing) X(call_register) X(load_x)

/// Calls `target` with the condition flags of `x` compared with 0, and its return address in x19
/// too: to that return those that begin with a call.
extern "C" int call_target(Target target, int x, TargetHelper helper);
/// Frames of `call_target` itself.
inline constexpr int kCallFrames = 1;

/// How far a jump reaches, up and down.
inline constexpr std::uintptr_t kBranchReach = std::uintptr_t{128} << 20;

/// A jump as tools write it.
using JumpBytes = std::array<unsigned char, 4>;
inline JumpBytes jump_bytes(std::uintptr_t from, std::uintptr_t to) {
  JumpBytes jump{};
  const std::uint32_t word =
      0x14000000U | (static_cast<std::uint32_t>((to - from) >> 2) & 0x03FFFFFFU);
  std::memcpy(jump.data(), &word, sizeof word);
  return jump;
}

/// Jumps to `function`, which begins with the system call, for read(2).
extern "C" long target_parked_read(int descriptor, void* buffer, std::size_t bytes,
                                   const void* function);
extern "C" const std::byte target_parked_call[];
extern "C" const std::byte target_parked_call_end[];

/// Returns its return address as paciasp, or pacibsp, has signed it.
extern "C" std::uintptr_t target_signed_link();
extern "C" const std::byte target_signed_link_end[];
