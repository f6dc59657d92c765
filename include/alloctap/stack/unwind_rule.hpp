/// An 8-byte encoding of rows of unwind tables.
#pragma once

#include <cstdint>
#include <limits>

#include "alloctap/arch/frame_record.hpp"
#include "alloctap/stack/unwind_frame.hpp"

namespace alloctap {

namespace elf {
struct CallFrameRow;
}

/// An unwind rule that finds the caller from the stack pointer and the frame pointer alone. Nearly
/// all unwind table rows of compiled code fit in this struct. `kNeedsTable` marks the other rows.
struct UnwindRule {
  enum class Kind : std::uint8_t {
    /// No rule: the code has no unwind table.
    kNone,
    /// CFA = sp + cfa_offset.
    kFromStackPointer,
    /// CFA = fp + cfa_offset.
    kFromFramePointer,
    /// CFA = the word at fp + cfa_offset, and the caller's fp is at fp + 8 * fp_slot. Describes
    /// functions that align their stack more strictly than the ABI requires.
    kRealigned,
    /// The frame has no caller.
    kOutermost,
    /// Each step must interpret the unwind table, because the row has an expression, reads another
    /// register or describes a signal frame. See `step_by_table`.
    kNeedsTable,
  };

  /// The return address's offset from the CFA in words, if return addresses end frames.
  static constexpr std::int8_t kEndOfFrame = -1;

  /// The `fp_slot` of functions that do not save fp. If return addresses end frames, this value is
  /// the slot of the return address, in which no register is ever saved. So a step may load from
  /// `fp_slot` unconditionally.
  static constexpr std::int16_t kUnchanged =
      arch::kRecordEndsFrame ? kEndOfFrame : std::numeric_limits<std::int16_t>::max();

  /// The `return_slot` if the return address is too far from the CFA to encode. The return address
  /// is then in the word above the saved fp. Occurs only if records may lie anywhere in a frame, as
  /// in GCC's AArch64 frames beyond 1 KiB.
  static constexpr std::int8_t kInRecord = std::numeric_limits<std::int8_t>::min();

  /// The offset of the CFA from sp or fp, in bytes.
  std::int32_t cfa_offset = 0;
  /// The offset of the caller's saved fp from the CFA (`kRealigned`: from fp), in words.
  std::int16_t fp_slot = kUnchanged;
  /// The offset of the return address from the CFA, in words.
  std::int8_t return_slot = 0;
  Kind kind = Kind::kNone;

  /// Returns whether the CFA is sp or fp plus an offset, as in nearly all code.
  [[nodiscard]] constexpr bool is_plain() const noexcept {
    return kind == Kind::kFromStackPointer || kind == Kind::kFromFramePointer;
  }

  /// Returns the return address's offset from the CFA in bytes.
  [[nodiscard]] constexpr std::int64_t return_offset() const noexcept {
    constexpr std::int64_t kWord = sizeof(std::uintptr_t);
    if constexpr (arch::kRecordEndsFrame) return kEndOfFrame * kWord;
    if (return_slot == kInRecord) return (std::int64_t{fp_slot} + 1) * kWord;
    return return_slot * kWord;
  }

  /// Returns how a step by this rule uses the frame pointer.
  [[nodiscard]] constexpr FramePointerUse pointer_use() const noexcept {
    if (kind != Kind::kFromStackPointer) return FramePointerUse::kUsed;
    return fp_slot == kUnchanged ? FramePointerUse::kPassedOn : FramePointerUse::kIgnored;
  }

  friend constexpr bool operator==(const UnwindRule&, const UnwindRule&) = default;
};

static_assert(sizeof(UnwindRule) == sizeof(std::uint64_t));

/// Encodes `row`; returns `kNeedsTable` if it does not fit in 8 bytes.
[[nodiscard]] UnwindRule rule_of(const elf::CallFrameRow& row) noexcept;

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/unwind_rule.hpp"
#endif
