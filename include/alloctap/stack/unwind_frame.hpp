/// The state of one frame in an unwind walk, with the stack words read to find it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace alloctap {

/// A stack frame: the registers from which an `UnwindRule` finds the caller.
struct UnwindFrame {
  /// The return address or, if a signal interrupted the function, the interrupted instruction's
  /// address plus 1. So `pc - 1` is in the call or the interrupted instruction.
  std::uintptr_t pc = 0;
  /// The stack pointer after the callee has returned.
  std::uintptr_t sp = 0;
  /// The frame pointer register after the callee has returned, even if it is used otherwise.
  std::uintptr_t fp = 0;

  [[nodiscard]] std::uintptr_t call_address() const noexcept { return pc - 1; }
  friend bool operator==(const UnwindFrame&, const UnwindFrame&) = default;
};

/// The address of a stack word, and its value when a walk read it.
struct StackWord {
  std::uintptr_t address = 0;
  std::uintptr_t value = 0;
};

/// Maximum number of words read to find a frame; a signal frame needs the most.
inline constexpr std::size_t kMaxWordsOfFrame = 4;
using FrameWords = std::array<StackWord, kMaxWordsOfFrame>;

/// How the step from a frame to its caller uses the frame pointer.
enum class FramePointerUse : std::uint8_t {
  /// The step reads fp to find the caller.
  kUsed,
  /// The step only passes fp to the caller, unchanged.
  kPassedOn,
  /// The step ignores fp, because the caller's fp is loaded from the stack or not needed.
  kIgnored,
};

/// Metadata of the step from a frame to its caller, stored with the caller. Written as one word.
struct StepNotes {
  /// Number of stack words read.
  std::uint8_t word_count = 0;
  /// Whether the callee had no unwind table and was unwound by frame record.
  bool by_record = false;
  /// Whether the last word supplied the frame pointer and nothing else.
  bool last_word_is_frame_pointer = false;
  /// How the step used the callee's frame pointer.
  FramePointerUse use = FramePointerUse::kUsed;
};
static_assert(sizeof(StepNotes) == sizeof(std::uint32_t));

/// A frame with the stack words read to find it.
struct NotedFrame {
  UnwindFrame frame;
  StepNotes step;
  FrameWords words;
};

}  // namespace alloctap
