/// Unwinds from the tracker's frames to the program's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/arch/own_registers.hpp"
#include "alloctap/meta/mapping_interval.hpp"
#include "alloctap/os/thread_registers.hpp"
#include "alloctap/stack/register_walk.hpp"

namespace alloctap {

/// Unwinds a thread from the tracker's frames to the program's frames. The thread writes a report
/// or waits for a report. The tracker's frames must not be roots, because unused slots in them may
/// hold stale pointers to lost blocks.
///
/// Runs in the forked copy of the process, or while other threads are stopped. Not thread-safe.
class ProgramFrames {
 public:
  /// `tracker` is the range of code that contains only the tracker, or empty if unknown.
  /// `c_library` is the range that contains `exit`, which runs the tracker's exit handlers.
  ProgramFrames(AddressRange tracker, AddressRange c_library) noexcept
      : tracker_(tracker), c_library_(c_library) {}

  /// Sets the registers in `thread` to their values at the entry to the tracker. If the program
  /// called the tracker, sets them only if `needs_no_arguments`, because argument registers may
  /// hold the only pointer to a block. If a signal entered the tracker, always sets them. Leaves
  /// `thread` unchanged if the thread is outside the tracker or unwinding fails.
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

  /// Unwinds to the caller of the tracker. Returns false if the thread is outside the tracker. The
  /// innermost frame may be a system call in which the tracker waits.
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

  /// Unwinds from the C library to the caller of `exit`, or to `_start` if `main` returned. The C
  /// library calls the tracker only from exit handlers and in the tracker's threads.
  void leave_exit() noexcept {
    constexpr int kMaxFrames = 8;
    for (int i = 0; i < kMaxFrames && is_in(c_library_); ++i) {
      if (walk_.step() != Outcome::kCaller) return;
    }
  }

  /// Unwinds a signal frame to the interrupted instruction. Returns false for any other frame.
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
