/// A walk with all registers that a smashed stack cannot lead astray.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/arch/own_registers.hpp"
#include "alloctap/elf/call_frame_step.hpp"
#include "alloctap/elf/register_file.hpp"
#include "alloctap/guard/per_thread.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/stack/stack_memory.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap {

/// Interprets the unwind tables of each frame anew, from its own frame outwards, with every
/// register that functions preserve; sees what `BacktraceStack` sees. Reads the stack as copies
/// that the system makes, so that no word of it can make the walk touch what is not there, which
/// the compiler's unwinder does. Some microseconds per frame: for the few stacks whose rules
/// `UnwindTableStack` does not keep.
struct CarefulStack {
  static constexpr std::string_view name = "careful";

  ALLOCTAP_NOINLINE static CapturedStack capture(ThreadState& thread, const CallOrigin& origin,
                                                 std::span<std::uintptr_t> frames) noexcept {
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

 private:
  enum class Outcome : std::uint8_t { kCaller, kOutermost, kFailed };

  /// Where a walk is.
  class Walk {
   public:
    void begin(std::uintptr_t pc, const arch::RegisterValues& own) noexcept {
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

    /// Goes to the frame that returns to `caller`. False where there is none near.
    [[nodiscard]] bool leave_tracker(std::uintptr_t caller) noexcept {
      constexpr int kMostFrames = 64;
      for (int i = 0; i < kMostFrames && step() == Outcome::kCaller; ++i) {
        if (pc_ == caller) return true;
      }
      return false;
    }

    void leave_allocator(const AllocatorFrames& allocator) noexcept {
      while (allocator.contains(pc_) && step() == Outcome::kCaller) {
      }
    }

    /// From the present frame outwards.
    [[nodiscard]] CapturedStack write(std::span<std::uintptr_t> frames) noexcept {
      CapturedStack stack;
      Outcome outcome = Outcome::kCaller;
      while (outcome == Outcome::kCaller) {
        if (stack.depth == frames.size()) {
          stack.truncated = true;
          return stack;
        }
        frames[stack.depth++] = pc_ + (pc_is_exact_ ? 1 : 0);
        outcome = step();
      }
      stack.failed = outcome == Outcome::kFailed && !is_at_start();
      return stack;
    }

   private:
    /// The loader's outermost frame does not say so: it is known by its place.
    [[nodiscard]] bool is_at_start() const noexcept {
      const auto sp = registers_.get(arch::DwarfRegisters::kStackPointer);
      return sp && *sp >= os::initial_stack_pointer();
    }

    Outcome step() noexcept {
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

    std::uintptr_t pc_ = 0;
    bool pc_is_exact_ = false;
    elf::RegisterFile registers_;
    CopiedStack memory_;
  };

  static CapturedStack caller_alone(std::uintptr_t caller,
                                    std::span<std::uintptr_t> frames) noexcept {
    frames[0] = caller;
    return {.depth = 1, .failed = true};
  }
};

static_assert(StackCapture<CarefulStack>);

}  // namespace alloctap
