/// Where the program's frames begin on the stack of a thread that is inside the tracker.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/arch/own_registers.hpp"
#include "alloctap/meta/mapping_interval.hpp"
#include "alloctap/os/thread_registers.hpp"
#include "alloctap/stack/register_walk.hpp"

namespace alloctap {

/// Walks from the tracker's frames, in which a thread waits for a report or writes one, to the
/// program's. What the former leave on the stack and in registers is no root: their unused words
/// hold what the program left there before, such as the address of a block that is lost.
///
/// Runs in the copy of the process, or while the other threads stand still. Not thread-safe.
class ProgramFrames {
 public:
  /// `tracker` is where the tracker's code lies, and nothing else; empty where that is unknown.
  /// `c_library` is where that of `exit` lies, whose handlers are the tracker's too.
  ProgramFrames(AddressRange tracker, AddressRange c_library) noexcept
      : tracker_(tracker), c_library_(c_library) {}

  /// Gives `thread` the registers and the stack pointer that it had when a signal interrupted it
  /// whose handler is the tracker's, or if `needs_no_arguments`, when it called the tracker: those
  /// of other calls may be all that holds a block. Leaves it alone where it is not inside the
  /// tracker, or the unwind tables do not say.
  void leave_tracker(os::ThreadRegisters& thread, bool needs_no_arguments) noexcept {
    if (tracker_.empty() || thread.general_count < arch::DwarfRegisters::kCount) return;
    begin(thread);
    if (!find_caller()) return;
    const bool by_call = !leave_signal_frame();
    if (by_call && !needs_no_arguments) return;
    if (by_call) leave_exit();
    thread.has_red_zone = !by_call;
    set_registers(thread);
  }

 private:
  using Registers = arch::DwarfRegisters;
  using Outcome = RegisterWalk::Outcome;

  void begin(const os::ThreadRegisters& thread) noexcept {
    arch::RegisterValues values;
    std::copy_n(thread.values.begin(), values.size(), values.begin());
    walk_.begin(values[Registers::kProgramCounter], values);
  }

  /// Goes to the function that called the tracker. The innermost frame may be the system call that
  /// the tracker waits in.
  [[nodiscard]] bool find_caller() noexcept {
    constexpr int kMaxFrames = 64;
    bool inside = is_in(tracker_);
    for (int i = 0; i < kMaxFrames && (inside || i < 1); ++i) {
      if (walk_.step() != Outcome::kCaller) return false;
      if (inside && !is_in(tracker_)) return true;
      inside = is_in(tracker_);
    }
    return false;
  }

  /// Goes to the function that called `exit`, or to what `main` returns to. The C library calls the
  /// tracker for nothing else but a thread of the tracker's.
  void leave_exit() noexcept {
    constexpr int kMaxFrames = 8;
    for (int i = 0; i < kMaxFrames && is_in(c_library_); ++i) {
      if (walk_.step() != Outcome::kCaller) return;
    }
  }

  /// Goes on where a signal interrupted the thread. False where a function called the tracker.
  [[nodiscard]] bool leave_signal_frame() noexcept {
    RegisterWalk interrupted = walk_;
    if (interrupted.step() != Outcome::kCaller || !interrupted.pc_is_exact()) return false;
    walk_ = interrupted;
    return true;
  }

  void set_registers(os::ThreadRegisters& thread) const noexcept {
    for (std::size_t number = 0; number < Registers::kCount; ++number) {
      thread.values[number] = walk_.registers().get(number).value_or(0);
    }
    thread.stack_pointer = thread.values[Registers::kStackPointer];
  }

  [[nodiscard]] bool is_in(AddressRange code) const noexcept {
    return walk_.pc() >= code.start && walk_.pc() < code.end;
  }

  AddressRange tracker_;
  AddressRange c_library_;
  RegisterWalk walk_;
};

}  // namespace alloctap
