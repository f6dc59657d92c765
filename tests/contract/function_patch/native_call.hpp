/// A target that calls its second argument by the convention of the system, which stacks and
/// exceptions pass through: `target_native_call`, called by `call_native`.
#pragma once

#include "tests/contract/function_patch/targets.hpp"

#if defined(_WIN32)

using NativeHelper = int (*)(int);
using NativeTarget = int (*)(int, NativeHelper);
extern "C" int target_native_call(int, NativeHelper);
extern "C" const std::byte target_native_call_end[];

inline int call_native(NativeTarget target, int x, NativeHelper helper) {
  return target(x, helper);
}

#else

using NativeHelper = TargetHelper;
using NativeTarget = Target;
inline constexpr NativeTarget target_native_call = &target_call_register;
inline constexpr const auto& target_native_call_end = target_call_register_end;

inline int call_native(NativeTarget target, int x, NativeHelper helper) {
  return call_target(target, x, helper);
}

#endif
