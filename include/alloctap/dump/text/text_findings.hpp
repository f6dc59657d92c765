/// Misuses, game frames, budgets and violations of no-allocation scopes in the text report.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/dump/text/text_parts.hpp"
#include "alloctap/snapshot/frame_history.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/sorted_misuses.hpp"

namespace alloctap {

/// Writes the numbers of distinct misuses and of their occurrences: "2 ways, 3 times".
inline void write_misuse_sum(const MisuseSum& sum, DumpWriter& out) {
  out << with_commas(sum.ways) << (sum.ways == 1 ? " way, " : " ways, ") << with_commas(sum.times)
      << (sum.times == 1 ? " time" : " times");
}

/// Writes "Misuse none found; checks: rear_guard=32", or nothing if no check is enabled.
inline void write_checks(const CheckSettings& checks, DumpWriter& out) {
  constexpr std::string_view kTitle = "Misuse     ";
  if (!checks.touches_all() && checks.guard_pages == 0) return;
  out << kTitle;
  WrappedText line(out, kTitle.size());
  std::size_t left = 0;
  for_each_active_check(checks, [&left](std::string_view, std::uint64_t) { ++left; });
  line.write(left > 0 ? "none found; checks:" : "none found");
  for_each_active_check(checks, [&](std::string_view name, std::uint64_t value) {
    line.write(check_text(name, value, --left > 0 ? "," : ""));
  });
  out << "\n";
}

/// Writes "Misused    2 ways, 3 times; suppressed 1 way, 4 times", or calls `write_checks`.
inline void write_misuse_totals(const Snapshot& snapshot, const SortedMisuses& sorted,
                                DumpWriter& out) {
  if (snapshot.misuses.empty()) return write_checks(snapshot.checks, out);
  MisuseSum reported = sorted.reported;
  reported.times += snapshot.misuses_left_out;
  out << "Misused    ";
  write_misuse_sum(reported, out);
  if (sorted.suppressed.ways > 0) {
    out << "; suppressed ";
    write_misuse_sum(sorted.suppressed, out);
  }
  if (snapshot.misuses_left_out > 0) {
    out << "; " << with_commas(snapshot.misuses_left_out) << " more are not shown";
  }
  out << "\n";
}

/// Writer of a misuse: its kind, the block, and the stacks that found, freed and allocated it.
class TextMisuse {
 public:
  TextMisuse(const Report& report, const FrameList& frames, DumpWriter& out) noexcept
      : report_(report), frames_(frames), out_(out) {}

  void write(const CountedMisuse& counted) {
    const Misuse& misuse = counted.first;
    out_ << name_of(misuse);
    if (counted.times > 1) out_ << ", " << with_commas(counted.times) << " times";
    out_ << "\n  ";
    write_fault(misuse);
    out_ << "\n";
    write_found(misuse);
    if (!misuse.block.known) return;
    if (misuse.block.freed) write_freed(misuse);
    write_call("allocated by ", name_of(misuse.block.kind), misuse.block.allocated, misuse);
  }

 private:
  void write_fault(const Misuse& misuse) {
    const BlockHistory& block = misuse.block;
    switch (misuse.kind) {
      case MisuseKind::kDoubleFree:
        out_ << name_of(misuse.call) << " of ";
        write_block(block);
        out_ << ", which was freed before";
        return;
      case MisuseKind::kUnknownPointer:
        out_ << PrintableText(caller_of(misuse)) << " of ";
        out_.hex(misuse.address) << (misuse.block.known ? ", where no block begins"
                                                        : ", which no allocation returned");
        return write_place(misuse);
      case MisuseKind::kInteriorPointer:
        out_ << caller_of(misuse) << " of ";
        out_.hex(misuse.address);
        return write_place(misuse);
      case MisuseKind::kKindMismatch:
        out_ << name_of(misuse.call) << " of ";
        write_block(block);
        out_ << ", which came from " << name_of(block.kind);
        return;
      case MisuseKind::kWrongSize:
        out_ << name_of(misuse.call) << " states " << with_commas(misuse.stated_size) << " byte"
             << plural(misuse.stated_size) << " for ";
        return write_block(block);
      case MisuseKind::kWrongAlignment:
        out_ << name_of(misuse.call) << " states ";
        write_alignment(misuse.stated_alignment);
        out_ << ", not ";
        write_alignment(block.alignment);
        out_ << ", for ";
        return write_block(block);
      case MisuseKind::kWrongHeap:
        out_ << name_of(misuse.call) << " to the heap ";
        out_.hex(os::number_of(misuse.heap));
        out_ << " of ";
        write_block(block);
        out_ << ", which is of the heap ";
        out_.hex(os::number_of(block.heap));
        return;
      case MisuseKind::kWriteBefore:
      case MisuseKind::kWriteBehind:
      case MisuseKind::kWriteAfterFree:
        return misuse.changed.count > 0 ? write_changes(misuse) : write_access(misuse);
      case MisuseKind::kReadBefore:
      case MisuseKind::kReadBehind:
      case MisuseKind::kReadAfterFree:
        return write_access(misuse);
      case MisuseKind::kOverlappingCopy:
        return write_overlap(misuse);
    }
  }

  /// Returns the name of the function that received the misused address.
  static std::string_view caller_of(const Misuse& misuse) noexcept {
    return misuse.access.function.empty() ? name_of(misuse.call) : misuse.access.function;
  }

  void write_block(const BlockHistory& block) {
    out_ << "the block of " << with_commas(block.size) << (block.size == 1 ? " byte" : " bytes")
         << " at ";
    out_.hex(block.address);
  }

  void write_alignment(std::size_t alignment) {
    if (alignment == 0) {
      out_ << "no alignment";
    } else {
      out_ << "an alignment of " << with_commas(alignment);
    }
  }

  /// Writes the position of the misused address relative to the block.
  void write_place(const Misuse& misuse) {
    const BlockHistory& block = misuse.block;
    if (!block.known) return;
    out_ << ", ";
    write_offset(static_cast<std::int64_t>(misuse.address - block.address), block);
    if (block.freed) out_ << ", which was freed";
  }

  /// Writes "8 bytes inside the block of 24 bytes at 0x...".
  void write_offset(std::int64_t offset, const BlockHistory& block) {
    const bool before = offset < 0;
    const bool behind = offset >= 0 && static_cast<std::uint64_t>(offset) >= block.size;
    const auto distance = static_cast<std::uint64_t>(before ? -offset : offset);
    const std::uint64_t shown = behind ? distance - block.size : distance;
    out_ << with_commas(shown) << (shown == 1 ? " byte " : " bytes ")
         << (before   ? "before "
             : behind ? "behind the end of "
                      : "inside ");
    write_block(block);
  }

  void write_changes(const Misuse& misuse) {
    const ChangedBytes& changed = misuse.changed;
    out_ << with_commas(changed.count) << (changed.count == 1 ? " byte" : " bytes")
         << " changed, the first ";
    write_offset(changed.first, misuse.block);
    out_ << "\n  from there: ";
    for (std::size_t i = 0; i < changed.shown; ++i) {
      write_byte(changed.found[i]);
      out_ << ' ';
    }
    out_ << "(each was ";
    write_byte(changed.expected);
    out_ << ")";
  }

  /// Writes "memcpy reads 40 bytes from 0x... on, the first bad one 0 bytes behind the end of the
  /// block of 24 bytes at 0x...".
  void write_access(const Misuse& misuse) {
    const MemoryAccess& access = misuse.access;
    const bool is_instruction = access.function.empty();
    out_ << PrintableText(is_instruction ? "an instruction" : access.function)
         << (access.writes ? " writes " : " reads ");
    if (access.bytes > 0) {
      out_ << with_commas(access.bytes) << (access.bytes == 1 ? " byte from " : " bytes from ");
      out_.hex(access.address) << " on, the first bad one ";
    } else {
      out_ << "at ";
      out_.hex(access.address) << ", ";
    }
    const BlockHistory& block = misuse.block;
    const auto begin = static_cast<std::int64_t>(access.address - block.address);
    const auto size = static_cast<std::int64_t>(block.size);
    write_offset(block.freed || begin < 0 ? begin : std::max(begin, size), block);
    if (block.freed) out_ << ", which was freed";
  }

  void write_overlap(const Misuse& misuse) {
    const MemoryAccess& access = misuse.access;
    out_ << PrintableText(access.function) << " copies " << with_commas(access.bytes)
         << (access.bytes == 1 ? " byte from " : " bytes from ");
    out_.hex(misuse.source) << " to ";
    out_.hex(access.address);
    if (!misuse.block.known) return;
    out_ << ", in ";
    write_block(misuse.block);
  }

  void write_byte(std::uint8_t byte) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    out_ << kDigits[byte >> 4] << kDigits[byte & 15];
  }

  void write_found(const Misuse& misuse) {
    if (misuse.by_sweep) {
      out_ << "  found in a look at all blocks\n";
      return;
    }
    const bool was_written = misuse.changed.count > 0;
    const bool late = was_written && misuse.kind == MisuseKind::kWriteAfterFree;
    out_ << "  "
         << (late          ? "found when the block's time in quarantine was over, by"
             : was_written ? "found when the block was given back, by"
                           : "by")
         << " thread " << misuse.found.thread << "\n";
    write_text_frames(report_, misuse.found.stack, frames_, out_);
  }

  void write_freed(const Misuse& misuse) {
    write_call("freed by ", name_of(misuse.block.freed_by), misuse.block.gone, misuse);
  }

  void write_call(std::string_view what, std::string_view name, const BlockCall& call,
                  const Misuse& misuse) {
    out_ << "  " << what << name << ", thread " << call.thread << ", "
         << human_time(misuse.found.time_ns - call.time_ns) << " before\n";
    write_text_frames(report_, call.stack, frames_, out_);
  }

  const Report& report_;
  const FrameList& frames_;
  DumpWriter& out_;
};

/// Writes the misuses that are not suppressed, in order of detection. `frames` must contain the
/// frames of the misuses' stacks.
inline void write_misuses(const Report& report, const SortedMisuses& sorted,
                          const FrameList& frames, DumpWriter& out) {
  if (sorted.reported.ways == 0) return;
  out << "\nMisuse of memory, first found first\n";
  std::size_t number = 0;
  for (std::size_t i = 0; i < report.snapshot.misuses.size(); ++i) {
    if (sorted.rule_of_fault[i] != Suppressions::kNoRule) continue;
    out << "\n!" << ++number << "  ";
    TextMisuse(report, frames, out).write(report.snapshot.misuses[i]);
  }
}

/// Writer of each budget's state and, for each measure, of the median (rounded up to the bound of a
/// histogram class), the worst game frame and that frame's first stacks. Writes nothing without
/// game frames and budgets. All arguments must outlive this object.
class TextGameFrames {
 public:
  static constexpr std::size_t kShownStacks = 3;

  /// Calls `visit(StackId)` for each stack that is shown.
  template <class Visit>
  static void for_each_shown(const FrameHistory& history, Visit&& visit) {
    for (const ArenaArray<WorstFrame>& list : history.worst) {
      if (list.empty()) continue;
      const WorstFrame& worst = list[0];
      for (std::size_t i = 0; i < shown_stacks(worst); ++i) visit(worst.stacks[i].stack);
      if (worst.slowest.duration_ns > 0) visit(worst.slowest.stack);
    }
    if (!history.offences.empty()) visit(history.offences.end()[-1].stack);
  }

  TextGameFrames(const Report& report, const FrameList& list, TextOwners& owners,
                 DumpWriter& out) noexcept
      : report_(report),
        history_(report.snapshot.frames),
        list_(list),
        owners_(owners),
        out_(out) {}

  void write() {
    if (history_.frames > 0) write_frames();
    if (!history_.budgets.empty()) write_budgets();
  }

 private:
  static std::size_t shown_stacks(const WorstFrame& frame) noexcept {
    return frame.stack_count < kShownStacks ? frame.stack_count : kShownStacks;
  }

  void write_frames() {
    out_ << "\nFrames of the game: " << with_commas(history_.frames);
    if (history_.refused_marks > 0) {
      out_ << "; " << counted(history_.refused_marks, "mark") << " met another and did nothing";
    }
    if (history_.marking_thread_changes > 0) {
      out_ << "; the marking thread changed " << counted(history_.marking_thread_changes, "time");
    }
    out_ << "\n";
    for (const FrameMeasure measure : kAllFrameMeasures) write_measure(measure);
    for (const FrameMeasure measure : kAllFrameMeasures) {
      const ArenaArray<WorstFrame>& list = worst_of(measure);
      if (!list.empty()) write_worst(measure, list[0]);
    }
  }

  [[nodiscard]] const ArenaArray<WorstFrame>& worst_of(FrameMeasure measure) const noexcept {
    return history_.worst[static_cast<std::size_t>(measure)];
  }

  void write_measure(FrameMeasure measure) {
    const ArenaArray<WorstFrame>& list = worst_of(measure);
    if (list.empty()) return;
    const FrameHistogram& histogram = history_.histograms[static_cast<std::size_t>(measure)];
    std::uint64_t frames = 0;
    std::size_t middle = 0;
    while (middle + 1 < histogram.size() && (frames += histogram[middle]) * 2 < history_.frames) {
      ++middle;
    }
    out_ << "  " << title_of(measure) << "half of the frames at most "
         << amount(measure, greatest_size(middle)) << ", the worst "
         << amount(measure, amount_of(list[0], measure)) << " (frame " << list[0].number << ")\n";
  }

  static std::string_view title_of(FrameMeasure measure) noexcept {
    constexpr std::array<std::string_view, kFrameMeasures> kTitles{
        "allocations   ", "bytes         ", "in allocator  ", "duration      "};
    return kTitles[static_cast<std::size_t>(measure)];
  }

  static std::uint64_t amount_of(const WorstFrame& frame, FrameMeasure measure) noexcept {
    return measured(frame.counts, frame.duration_ns, measure);
  }

  static ShortText milliseconds(std::uint64_t ns) noexcept {
    ShortText text;
    text.append(ns / 1'000'000);
    text.append('.');
    const std::uint64_t rest = ns / 1000 % 1000;
    text.append(rest / 100);
    text.append(rest / 10 % 10);
    text.append(rest % 10);
    text.append(" ms");
    return text;
  }

  static ShortText amount(FrameMeasure measure, std::uint64_t number) noexcept {
    if (measure == FrameMeasure::kAllocations) return with_commas(number);
    return measure == FrameMeasure::kBytes ? human_bytes(number) : milliseconds(number);
  }

  void write_worst(FrameMeasure measure, const WorstFrame& frame) {
    out_ << "\nMost " << name_of(measure) << ": frame " << frame.number << ", "
         << milliseconds(static_cast<std::uint64_t>(frame.duration_ns)) << "; "
         << counted(frame.counts.allocations, "allocation") << " of "
         << human_bytes(frame.counts.allocated_bytes) << ", "
         << milliseconds(frame.counts.allocator_ns) << " in the allocator\n";
    if (frame.slowest.duration_ns > 0) write_slowest(frame.slowest);
    for (std::size_t i = 0; i < shown_stacks(frame); ++i) {
      const StackOfFrame& stack = frame.stacks[i];
      out_ << "  " << with_commas(stack.allocations) << " of " << human_bytes(stack.allocated_bytes)
           << ", " << milliseconds(stack.allocator_ns) << "\n";
      owners_.write_owner(stack.stack);
      write_text_frames(report_, stack.stack, list_, out_);
    }
  }

  void write_slowest(const SlowCall& call) {
    out_ << "  its slowest call of those that were timed: "
         << milliseconds(static_cast<std::uint64_t>(call.duration_ns)) << " to "
         << name_of(call.call) << " " << human_bytes(call.bytes) << ", cause "
         << name_of(cause_of(call));
    if (call.has_usage) {
      out_ << " (" << with_commas(call.page_faults) << " page fault" << plural(call.page_faults)
           << ", " << with_commas(call.waits) << " wait" << plural(call.waits) << ", preempted "
           << with_commas(call.preemptions) << " time" << plural(call.preemptions) << ")";
    }
    out_ << "\n";
    write_text_frames(report_, call.stack, list_, out_);
  }

  void write_budgets() {
    out_ << "\nBudgets\n";
    for (const BudgetSummary& budget : history_.budgets) {
      for (const BudgetKind kind : kAllBudgetKinds) {
        const LimitSummary& limit = budget.limits[static_cast<std::size_t>(kind)];
        if (limit.limit != kUnlimited) write_limit(owners_.path_of(budget.tag), kind, limit);
      }
    }
    if (history_.offences.empty()) return;
    const BudgetOffence& last = history_.offences.end()[-1];
    out_ << "\nLast over a budget: " << PrintableText(owners_.path_of(last.tag)) << ", "
         << with_commas(last.value) << " of " << with_commas(last.limit) << " "
         << name_of(last.kind) << ", in frame " << last.frame << "\n";
    write_text_frames(report_, last.stack, list_, out_);
  }

  void write_limit(std::string_view tag, BudgetKind kind, const LimitSummary& limit) {
    out_ << "  " << (limit.offences > 0 ? "over " : "kept ") << name_of(kind) << " "
         << with_commas(limit.limit) << ": at most " << with_commas(limit.most) << ", exceeded "
         << with_commas(limit.offences) << (limit.offences == 1 ? " time   " : " times   ")
         << PrintableText(tag) << "\n";
  }

  const Report& report_;
  const FrameHistory& history_;
  const FrameList& list_;
  TextOwners& owners_;
  DumpWriter& out_;
};

inline constexpr std::size_t kShownScopeOffences = 20;

/// Calls `visit(StackId)` for each stack that is shown.
template <class Visit>
void for_each_scope_offence_stack(const Snapshot& snapshot, Visit&& visit) {
  const std::size_t shown = std::min(kShownScopeOffences, snapshot.scope_offences.size());
  for (std::size_t i = 0; i < shown; ++i) visit(snapshot.scope_offences[i].stack);
}

/// Writes allocations in no-allocation scopes, in order of first violation, if any.
inline void write_scope_offences(const Report& report, const FrameList& frames, TextOwners& owners,
                                 DumpWriter& out) {
  const Snapshot& snapshot = report.snapshot;
  if (snapshot.scope_offences.empty()) return;
  out << "\nScopes that must not allocate, and did\n";
  const std::size_t shown = std::min(kShownScopeOffences, snapshot.scope_offences.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const OffenceSum& offence = snapshot.scope_offences[i];
    out << "  " << PrintableText(offence.scope()) << ": " << with_commas(offence.sums.allocations)
        << " allocation" << plural(offence.sums.allocations) << " of "
        << human_bytes(offence.sums.bytes) << ", " << counted(offence.sums.frees, "free") << ", in "
        << counted(offence.scopes, "run") << "\n";
    owners.write_owner(offence.stack);
    write_text_frames(report, offence.stack, frames, out);
  }
  const std::uint64_t others =
      snapshot.scope_offences.size() - shown + snapshot.left_out_scope_offences;
  if (others > 0) out << "  and " << with_commas(others) << " more\n";
}

}  // namespace alloctap
