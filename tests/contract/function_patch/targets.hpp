/// Functions of hand-written instructions, each with a result that is known.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/contract/function_patch/target_abi.hpp"

/// For `target_call_register`, which calls it.
using TargetHelper = int(TARGET_ABI*)(int);
/// All take a number, and return one.
using Target = int(TARGET_ABI*)(int, TargetHelper);

/// Each has a symbol for its end: `name_end`.
#define DECLARE_TARGET(name, ...)                             \
  extern "C" TARGET_ABI int target_##name(int, TargetHelper); \
  extern "C" const std::byte target_##name##_end[];

/// Of the processor: FORM_TARGETS(X), with what each adds to its argument; REFUSED_TARGETS(X), with
/// why; TOGGLED_TARGETS(X); `call_target`, which calls one; `kBranchReach`; `jump_bytes`.
#include "machine_targets.hpp"

FORM_TARGETS(DECLARE_TARGET)
REFUSED_TARGETS(DECLARE_TARGET)
DECLARE_TARGET(word_thunk)
DECLARE_TARGET(far_thunk)
DECLARE_TARGET(unbound_thunk)
DECLARE_TARGET(endless_thunk)
/// Patched by one test only: it has no island before.
DECLARE_TARGET(unreachable)

/// Jumps to `wide_body`, with arguments in all registers and on the stack.
extern "C" TARGET_ABI double target_wide(int, int, int, int, int, int, int, int, double, double,
                                         double, double, double, double, double, double, double,
                                         double);
extern "C" const std::byte target_wide_end[];
using WideTarget = decltype(&target_wide);

/// 600 functions of 16 bytes each; number n returns x + n.
extern "C" const std::byte target_many[];
inline constexpr int kManyTargets = 600;
inline constexpr std::size_t kManyBytes = 16;
