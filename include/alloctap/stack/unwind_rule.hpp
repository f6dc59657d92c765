/// The rows of unwind tables, boiled down to 8 bytes.
#pragma once

#include <cstdint>
#include <limits>

#include "alloctap/arch/frame_record.hpp"
#include "alloctap/stack/unwind_frame.hpp"

namespace alloctap {

namespace elf {
struct CallFrameRow;
}

/// How the caller of a frame is found from the frame's stack pointer and frame pointer alone. All
/// but a few rows of compiled code are of these kinds; `kNeedsTable` stands for the rest.
struct UnwindRule {
  enum class Kind : std::uint8_t {
    /// No rule: the code has no unwind table.
    kNone,
    /// CFA = sp + cfa_offset.
    kFromStackPointer,
    /// CFA = fp + cfa_offset.
    kFromFramePointer,
    /// CFA = the word at fp + cfa_offset, and the caller's fp is at fp + 8 * fp_slot: functions
    /// that
    /// align their stack to more than the ABI does.
    kRealigned,
    /// There is no caller.
    kOutermost,
    /// An expression, another register, a signal frame: see `unwind_step.hpp`.
    kNeedsTable,
  };

  /// Where return addresses are, if they end frames: words from the CFA.
  static constexpr std::int8_t kEndOfFrame = -1;

  /// What `fp_slot` says where the caller's fp is the frame's own. If return addresses end frames,
  /// it is their place, where nobody saves another register: so a step by such a rule may read
  /// there before it knows.
  static constexpr std::int16_t kUnchanged =
      arch::kRecordEndsFrame ? kEndOfFrame : std::numeric_limits<std::int16_t>::max();

  /// What `return_slot` says of a record that is too far from the CFA for it: the word above the
  /// caller's fp. Only where a record may lie anywhere in its frame, as in the frames of more than
  /// 1 KiB that GCC makes for AArch64.
  static constexpr std::int8_t kInRecord = std::numeric_limits<std::int8_t>::min();

  /// Bytes.
  std::int32_t cfa_offset = 0;
  /// Where the caller's frame pointer was saved: words from the CFA.
  std::int16_t fp_slot = kUnchanged;
  /// Where the return address is: words from the CFA.
  std::int8_t return_slot = 0;
  Kind kind = Kind::kNone;

  /// Of one of the two kinds that nearly all code is of.
  [[nodiscard]] constexpr bool is_plain() const noexcept {
    return kind == Kind::kFromStackPointer || kind == Kind::kFromFramePointer;
  }

  /// Where the return address is: bytes from the CFA.
  [[nodiscard]] constexpr std::int64_t return_offset() const noexcept {
    constexpr std::int64_t kWord = sizeof(std::uintptr_t);
    if constexpr (arch::kRecordEndsFrame) return kEndOfFrame * kWord;
    if (return_slot == kInRecord) return (std::int64_t{fp_slot} + 1) * kWord;
    return return_slot * kWord;
  }

  /// What a step by this rule does with the frame's pointer.
  [[nodiscard]] constexpr FramePointerUse pointer_use() const noexcept {
    if (kind != Kind::kFromStackPointer) return FramePointerUse::kUsed;
    return fp_slot == kUnchanged ? FramePointerUse::kPassedOn : FramePointerUse::kIgnored;
  }

  friend constexpr bool operator==(const UnwindRule&, const UnwindRule&) = default;
};

static_assert(sizeof(UnwindRule) == sizeof(std::uint64_t));

/// The rule that says what `row` says; `kNeedsTable` where 8 bytes cannot.
[[nodiscard]] UnwindRule rule_of(const elf::CallFrameRow& row) noexcept;

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/unwind_rule.hpp"
#endif
