/// Frames, the unwind rules that find their callers, and the process-wide cache of rules.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "alloctap/arch/frame_record.hpp"
#include "alloctap/runtime/static_objects.hpp"

namespace alloctap {

/// A stack frame: the registers from which an `UnwindRule` finds the caller.
struct UnwindFrame {
  /// The return address or, if a signal interrupted the function, the interrupted instruction's
  /// address plus 1. So `pc - 1` is in the call or the interrupted instruction.
  std::uintptr_t pc = 0;
  /// The stack pointer after the callee has returned.
  std::uintptr_t sp = 0;
  /// The frame pointer register after the callee has returned, even if used as a general register.
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

namespace elf {
struct CallFrameRow;
}

/// An unwind rule that finds the caller from the stack pointer and the frame pointer alone. Nearly
/// all unwind table rows of compiled code fit in its 8 bytes. `kNeedsTable` marks the other rows.
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

  /// The return address's offset from the CFA in words, if frames end with the return address.
  static constexpr std::int8_t kEndOfFrame = -1;

  /// The `fp_slot` of functions that do not save fp. If frames end with the return address, this
  /// value is the slot of the return address, in which no register is ever saved. So a step may
  /// load from `fp_slot` unconditionally.
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

/// Encodes `row`; returns `kNeedsTable` if it does not fit.
[[nodiscard]] UnwindRule rule_of(const elf::CallFrameRow& row) noexcept;

/// A cache of unwind rules in two direct-mapped tables keyed by call address. The small table has
/// the first rules stored; most programs need no more. The large table has later rules. In one
/// large table, most rules would be alone on a page and cost a page fault, which takes longer than
/// reading a rule from unwind tables. Untouched pages cost no memory.
///
/// Lock-free and thread-safe with relaxed atomics. An entry has the rule and a check word: the
/// address mixed with the rule. So a torn read fails the check and counts as a miss.
/// Constant-initialized.
class UnwindRuleCache {
 public:
  /// A counter that changes whenever code may have been unloaded. A rule is found only in the epoch
  /// in which it was stored.
  using Epoch = std::uint64_t;

  /// Returns the rule at `address`, or `kNone` if it is not cached.
  [[nodiscard]] UnwindRule find(std::uintptr_t address, Epoch epoch) const noexcept {
    const UnwindRule first = first_.find(address, epoch);
    if (first.kind != UnwindRule::Kind::kNone || !first_is_full()) return first;
    return later_.find(address, epoch);
  }

  void keep(std::uintptr_t address, const UnwindRule& rule, Epoch epoch) noexcept {
    if (first_is_full()) return later_.keep(address, rule, epoch);
    kept_.fetch_add(1, std::memory_order_relaxed);
    first_.keep(address, rule, epoch);
  }

 private:
  static constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;

  static std::uint64_t check_of(std::uintptr_t address, std::uint64_t rule, Epoch epoch) noexcept {
    return address ^ (rule + epoch) * kMultiplier;
  }

  template <int kBits>
  class Table {
   public:
    static constexpr std::size_t kSize = std::size_t{1} << kBits;

    [[nodiscard]] UnwindRule find(std::uintptr_t address, Epoch epoch) const noexcept {
      const Entry& entry = entries_[place_of(address)];
      const std::uint64_t rule = entry.rule.load(std::memory_order_relaxed);
      const std::uint64_t check = entry.check.load(std::memory_order_relaxed);
      const bool same = check == check_of(address, rule, epoch);
      return same ? std::bit_cast<UnwindRule>(rule) : UnwindRule{};
    }

    void keep(std::uintptr_t address, const UnwindRule& rule, Epoch epoch) noexcept {
      const auto bits = std::bit_cast<std::uint64_t>(rule);
      Entry& entry = entries_[place_of(address)];
      entry.rule.store(bits, std::memory_order_relaxed);
      entry.check.store(check_of(address, bits, epoch), std::memory_order_relaxed);
    }

   private:
    struct Entry {
      std::atomic<std::uint64_t> check;
      std::atomic<std::uint64_t> rule;
    };

    static std::size_t place_of(std::uintptr_t address) noexcept {
      return (address * kMultiplier) >> (64 - kBits);
    }

    ZeroedArray<Entry, kSize> entries_;
  };

  using First = Table<12>;

  /// Returns whether the first table is half full. More entries would collide too often.
  [[nodiscard]] bool first_is_full() const noexcept {
    return kept_.load(std::memory_order_relaxed) >= First::kSize / 2;
  }

  std::atomic<std::uint32_t> kept_{0};
  First first_;
  Table<16> later_;
};

/// Returns the unwind table row at `address`, or the row of a signal trampoline. Returns nullptr if
/// the address has no row, or the table is unreadable. Interprets the table on each call. The
/// result is valid until the thread's next call. Runs inside malloc. Not re-entrant on one thread,
/// which is safe because allocations of a signal handler that interrupts a capture are not
/// captured.
[[nodiscard]] const elf::CallFrameRow* find_unwind_row(std::uintptr_t address) noexcept;

/// The unwind rules of all loaded modules, read from their tables on first use. All members are
/// static. Thread-safe; runs inside malloc.
class UnwindRules {
 public:
  using Epoch = UnwindRuleCache::Epoch;

  /// Returns the rule at `address`; `kNone` if the code has no unwind table.
  [[nodiscard]] static UnwindRule find(std::uintptr_t address, Epoch epoch) noexcept {
    const UnwindRule rule = cache_.find(address, epoch);
    if (rule.kind != UnwindRule::Kind::kNone) [[likely]] {
      return rule;
    }
    return read_from_table(address, epoch);
  }

  /// Returns the epoch. Results derived from rules are valid while the epoch is unchanged.
  [[nodiscard]] static Epoch epoch() noexcept { return epoch_.load(std::memory_order_acquire); }

  /// Invalidates all rules. Call it after a module is unloaded, before the module's addresses are
  /// reused. Precondition: no thread still runs the unloaded code.
  static void forget_all() noexcept { epoch_.fetch_add(1, std::memory_order_release); }

 private:
  /// Returns the rule read from the unwind table, and caches it. Does not cache `kNone`, because a
  /// table may be registered later, and code without a rule ends the walk anyway. Preserves errno.
  static UnwindRule read_from_table(std::uintptr_t address, Epoch epoch) noexcept;

  static inline constinit UnwindRuleCache cache_;
  static inline constinit std::atomic<Epoch> epoch_{1};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/unwind_rules.hpp"
#endif
