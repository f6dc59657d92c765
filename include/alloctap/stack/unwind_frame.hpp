/// What a walk knows of one frame, and of the memory that told it.
#pragma once

#include <array>
#include <cstddef>
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

/// The words that a frame was found by: a signal's are the most.
inline constexpr std::size_t kMaxWordsOfFrame = 4;
using FrameWords = std::array<StackWord, kMaxWordsOfFrame>;

/// What the way from a frame to its caller does with the frame pointer.
enum class FramePointerUse : std::uint8_t {
  /// Reads it to find the caller.
  kUsed,
  /// Leaves it to the caller as it is.
  kPassedOn,
  /// Does not look at it: the caller's own was saved elsewhere, or nobody asks for it.
  kIgnored,
};

/// What is noted of the way to a frame from the one that it called. Written at once.
struct StepNotes {
  /// How many words of the stack were read.
  std::uint8_t word_count = 0;
  /// Whether code without a table was left, by its frame record.
  bool by_record = false;
  /// The last of the words told the frame pointer, and nothing else.
  bool last_word_is_frame_pointer = false;
  /// What became of the frame pointer of the frame inside.
  FramePointerUse use = FramePointerUse::kUsed;
};
static_assert(sizeof(StepNotes) == sizeof(std::uint32_t));

/// A frame with the words that it was found by.
struct NotedFrame {
  UnwindFrame frame;
  StepNotes step;
  FrameWords words;
};

}  // namespace alloctap
