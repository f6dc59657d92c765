/// Definitions for stack/full_unwind_stack.hpp.
#pragma once

#include "alloctap/elf/call_frame_step.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/stack/full_unwind_stack.hpp"
#include "alloctap/stack/unwind_rules.hpp"

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

ALLOCTAP_INLINE void RegisterWalk::begin(std::uintptr_t pc,
                                         const arch::RegisterValues& own) noexcept {
  using Registers = arch::DwarfRegisters;
  memory_.forget();
  pc_ = pc;
  pc_is_exact_ = true;
  registers_ = {};
  for (unsigned number = 0; number < own.size(); ++number) {
    const bool known = Registers::is_preserved(number) || number == Registers::kStackPointer ||
                       number == Registers::kProgramCounter;
    if (known) registers_.set(number, own[number]);
  }
}

ALLOCTAP_INLINE RegisterWalk::Outcome RegisterWalk::step() noexcept {
  const elf::CallFrameRow* const row = find_unwind_row(pc_is_exact_ ? pc_ : pc_ - 1);
  if (row == nullptr) return Outcome::kFailed;
  auto read = [this](std::uintptr_t address, std::uintptr_t& word) noexcept {
    return memory_.read(address, word);
  };
  const elf::CallFrameStep step = elf::step_to_caller(*row, registers_, read);
  switch (step.outcome) {
    case elf::CallFrameStep::Outcome::kOutermost:
      return Outcome::kOutermost;
    case elf::CallFrameStep::Outcome::kFailed:
      return Outcome::kFailed;
    case elf::CallFrameStep::Outcome::kCaller:
      break;
  }
  pc_ = step.pc;
  pc_is_exact_ = step.pc_is_exact;
  registers_ = step.registers;
  return Outcome::kCaller;
}

}  // namespace alloctap
