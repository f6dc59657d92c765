/// What a walk knows of one frame, and of the memory that told it.
#pragma once

#include <cstdint>

namespace alloctap {

/// A function that is waiting for a call to return. What `UnwindRule` needs to find its caller.
struct UnwindFrame {
  /// The return address; plus one where the function was interrupted and did not call, so that
  /// `pc - 1` lies in the instruction that led inwards in every frame.
  std::uintptr_t pc = 0;
  /// The stack pointer behind the return.
  std::uintptr_t sp = 0;
  /// The frame pointer behind the return, whether it is used as one or not.
  std::uintptr_t fp = 0;

  [[nodiscard]] std::uintptr_t call_address() const noexcept { return pc - 1; }
  friend bool operator==(const UnwindFrame&, const UnwindFrame&) = default;
};

/// A word of the stack as it was when a walk read it.
struct StackWord {
  std::uintptr_t address = 0;
  std::uintptr_t value = 0;
};

}  // namespace alloctap
