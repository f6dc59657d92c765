/// The bodies of stack/full_unwind_stack.hpp.
#pragma once

#include <cstdint>
#include <span>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/arch/own_registers.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/stack/full_unwind_stack.hpp"
#include "alloctap/stack/register_walk.hpp"
#include "alloctap/stack/stack_capture.hpp"

namespace alloctap {

/// A walk that starts in the frame of `capture`.
class FullUnwindStack::Walk : public RegisterWalk {
 public:
  /// Unwinds until the current frame's pc is `caller`. Returns false if 64 steps do not suffice.
  [[nodiscard]] bool leave_tracker(std::uintptr_t caller) noexcept {
    constexpr int kMaxFrames = 64;
    for (int i = 0; i < kMaxFrames && step() == Outcome::kCaller; ++i) {
      if (pc() == caller) return true;
    }
    return false;
  }

  void leave_allocator(const AllocatorFrames& allocator) noexcept {
    while (allocator.contains(pc()) && step() == Outcome::kCaller) {
    }
  }

  /// Writes the current frame and all outer ones.
  [[nodiscard]] CapturedStack write(std::span<std::uintptr_t> frames) noexcept {
    CapturedStack stack;
    Outcome outcome = Outcome::kCaller;
    while (outcome == Outcome::kCaller) {
      if (stack.depth == frames.size()) {
        stack.truncated = true;
        return stack;
      }
      frames[stack.depth++] = pc() + (pc_is_exact() ? 1 : 0);
      outcome = step();
    }
    stack.failed = outcome == Outcome::kFailed && !is_at_start();
    return stack;
  }

 private:
  /// Returns whether the current frame is the loader's outermost one, which no unwind table marks.
  [[nodiscard]] bool is_at_start() const noexcept {
    const auto sp = registers().get(arch::DwarfRegisters::kStackPointer);
    return sp && os::is_initial_frame(*sp);
  }
};

ALLOCTAP_NOINLINE ALLOCTAP_INLINE CapturedStack FullUnwindStack::capture(
    ThreadState& thread, const CallOrigin& origin, std::span<std::uintptr_t> frames) noexcept {
  const auto caller = reinterpret_cast<std::uintptr_t>(origin.caller);
  Walk* walk = PerThread<Walk>::of(thread);
  if (walk == nullptr) return caller_alone(caller, frames);
  arch::RegisterValues own;
  const std::uintptr_t pc = arch::read_own_registers(own);
  walk->begin(pc, own);
  if (!walk->leave_tracker(caller)) return caller_alone(caller, frames);
  if (origin.allocator != nullptr) walk->leave_allocator(*origin.allocator);
  return walk->write(frames);
}

}  // namespace alloctap
