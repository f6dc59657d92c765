/// The chain of frame pointers: fast, and right where the program was built with them.
#pragma once

#include "alloctap/arch/frame_record.hpp"
#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/stack/stack_capture.hpp"

namespace alloctap {

/// Follows the frame records from the hooked function outwards. Needs a program, and libraries on
/// the way, built with -fno-omit-frame-pointer; elsewhere frames are missing, which cannot always
/// be told from a shorter stack. Reads only inside the mapped range that holds the stack.
struct FramePointerStack {
  static constexpr std::string_view name = "frame-pointer";

  static CapturedStack capture(ThreadState& thread, const CallOrigin& origin,
                               std::span<std::uintptr_t> frames) noexcept {
    CapturedStack stack;
    frames[stack.depth++] = reinterpret_cast<std::uintptr_t>(origin.caller);
    const auto* record = static_cast<const arch::FrameRecord*>(origin.frame);
    const os::StackBounds& bounds = stack_around(thread, origin.frame);
    for (;;) {
      const auto* caller = next(record, bounds);
      if (caller == nullptr) break;
      record = caller;
      if (record->return_address == 0) return stack;
      if (stack.depth == frames.size()) {
        stack.truncated = true;
        return stack;
      }
      frames[stack.depth++] = record->return_address;
    }
    // The ABI clears the frame pointer of the outermost frame.
    stack.failed = record == nullptr || record->caller_frame != 0;
    return stack;
  }

 private:
  /// The caller's record, if it lies further out on the same stack, whole and aligned.
  static const arch::FrameRecord* next(const arch::FrameRecord* record,
                                       const os::StackBounds& bounds) noexcept {
    if (record == nullptr || !bounds.contains(reinterpret_cast<std::uintptr_t>(record))) {
      return nullptr;
    }
    const std::uintptr_t caller = record->caller_frame;
    const bool plausible = caller > reinterpret_cast<std::uintptr_t>(record) &&
                           caller <= bounds.high - sizeof(arch::FrameRecord) &&
                           caller % alignof(arch::FrameRecord) == 0;
    return plausible ? reinterpret_cast<const arch::FrameRecord*>(caller) : nullptr;
  }

  /// The bounds of the stack that `frame` is on. A program that switches stacks makes the known
  /// bounds wrong, and a main stack grows below them: both are asked for anew.
  static const os::StackBounds& stack_around(ThreadState& thread, const void* frame) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(frame);
    if (!thread.stack_bounds.contains(address)) {
      thread.stack_bounds = os::find_stack_bounds(address);
    }
    return thread.stack_bounds;
  }
};

static_assert(StackCapture<FramePointerStack>);

}  // namespace alloctap
