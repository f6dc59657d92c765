/// Writer of the text report, with its leaks and suppression rules.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/dumps.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/dump/text/text_parts.hpp"
#include "alloctap/dump/text/text_sections.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/leaks.hpp"
#include "alloctap/snapshot/reach/reachability.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/sorted_misuses.hpp"
#include "alloctap/snapshot/suppressions.hpp"
#include "alloctap/status.hpp"
#include "alloctap/version.hpp"

namespace alloctap {

/// Selects the blocks of a stack that a list shows.
enum class ListedBlocks : std::uint8_t { kLive, kDefinite, kIndirect };

struct ListedSum {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
};

[[nodiscard]] constexpr ListedSum count_blocks(const StackSummary& stack,
                                               ListedBlocks listed) noexcept {
  const UnreachableSum& lost = stack.unreachable;
  switch (listed) {
    case ListedBlocks::kDefinite:
      return {lost.definite_allocations, lost.definite_bytes};
    case ListedBlocks::kIndirect:
      return {lost.indirect_allocations, lost.indirect_bytes};
    case ListedBlocks::kLive:
      break;
  }
  return {stack.live_allocations, stack.live_bytes};
}

/// Appends `stacks` that have `listed` blocks, most bytes first. Returns false if out of memory.
[[nodiscard]] inline bool list_stacks(const ArenaArray<const StackSummary*>& stacks,
                                      ListedBlocks listed, ArenaArray<const StackSummary*>& list) {
  for (const StackSummary* stack : stacks) {
    if (count_blocks(*stack, listed).allocations > 0 && !list.push_back(stack)) return false;
  }
  std::sort(list.begin(), list.end(), [listed](const StackSummary* a, const StackSummary* b) {
    const std::uint64_t a_bytes = count_blocks(*a, listed).bytes;
    const std::uint64_t b_bytes = count_blocks(*b, listed).bytes;
    return a_bytes != b_bytes ? a_bytes > b_bytes : a->stack < b->stack;
  });
  return true;
}

/// Writes the results and blind spots of the reachability scan. Writes nothing without a scan.
inline void write_scan(const ScanSummary& scan, const Leaks& leaks, DumpWriter& out) {
  if (!scan.done) return;
  const auto write_sum = [&](std::string_view how, const LiveSum& sum) {
    out << how << human_bytes(sum.live_bytes) << " in " << with_commas(sum.live_allocations)
        << " block" << plural(sum.live_allocations);
  };
  write_sum("           of it out of reach: definitely ", leaks.definite);
  write_sum(", indirectly ", leaks.indirect);
  constexpr std::int64_t kMicrosecond = 1000;
  out << "\n           scanned in "
      << with_commas(static_cast<std::uint64_t>(scan.scan_ns / kMicrosecond))
      << " us, threads stopped for "
      << with_commas(static_cast<std::uint64_t>(scan.stopped_ns / kMicrosecond)) << " us\n";
  if (scan.unseen_threads > 0) {
    out << "           " << with_commas(scan.unseen_threads) << " thread"
        << plural(scan.unseen_threads)
        << " could not be stopped: what only their registers hold counts as leaked\n";
  }
  if (scan.unread_bytes > 0) {
    out << "           " << human_bytes(scan.unread_bytes)
        << " could not be read: what only they point at counts as leaked\n";
  }
}

/// Writes "Leaked     1.2 KiB in 3 blocks of 2 stacks; suppressed 40 KiB in 10 blocks".
inline void write_leak_totals(const Leaks& leaks, DumpWriter& out) {
  const LiveSum& leaked = leaks.leaked;
  out << "Leaked     ";
  if (leaked.stacks == 0) {
    out << "nothing";
  } else {
    out << human_bytes(leaked.live_bytes) << " in " << with_commas(leaked.live_allocations)
        << " block" << plural(leaked.live_allocations) << " of " << with_commas(leaked.stacks)
        << " stack" << plural(leaked.stacks);
  }
  out << "; suppressed " << human_bytes(leaks.suppressed.live_bytes) << " in "
      << with_commas(leaks.suppressed.live_allocations) << " block"
      << plural(leaks.suppressed.live_allocations) << "\n";
}

/// Writes what a rule matched: blocks and bytes of leaks, or distinct misuses and occurrences.
inline void write_matched(const LiveSum& sum, DumpWriter& out) {
  out << with_commas(sum.live_allocations) << "  " << human_bytes(sum.live_bytes);
}
inline void write_matched(const MisuseSum& sum, DumpWriter& out) {
  out << with_commas(sum.ways) << "  " << with_commas(sum.times);
}
[[nodiscard]] constexpr bool has_matched(const LiveSum& sum) noexcept { return sum.stacks > 0; }
[[nodiscard]] constexpr bool has_matched(const MisuseSum& sum) noexcept { return sum.ways > 0; }

/// Writer of lists of rules. `sums[i]` is the sum of the leaks or misuses that `rules[i]` matched.
template <class Sum>
class TextRules {
 public:
  TextRules(std::span<const SuppressionRule> rules, const ArenaArray<Sum>& sums,
            DumpWriter& out) noexcept
      : rules_(rules), sums_(sums), out_(out) {}

  /// Writes the allow-list rules (if `only`) or suppressions that matched, under `title`.
  void write_matching(std::string_view title, bool only) {
    bool first = true;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (rules_[i].only != only || !has_matched(sums_[i])) continue;
      if (first) out_ << "\n" << title << "\n";
      first = false;
      out_ << "  ";
      write_matched(sums_[i], out_);
      out_ << "  ";
      write_rule(rules_[i]);
    }
  }

  [[nodiscard]] bool has_idle() const noexcept {
    return !std::all_of(sums_.begin(), sums_.end(),
                        [](const Sum& sum) { return has_matched(sum); });
  }

  /// Writes the rules that matched nothing and so can be deleted.
  void write_idle() {
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (has_matched(sums_[i])) continue;
      out_ << "  ";
      write_rule(rules_[i]);
    }
  }

 private:
  void write_rule(const SuppressionRule& rule) {
    out_ << (rule.only ? SuppressionRule::kOnly : std::string_view()) << rule.subject << ':'
         << PrintableText(rule.pattern) << "   " << PrintableText(rule.source) << ':' << rule.line
         << "\n";
  }

  std::span<const SuppressionRule> rules_;
  const ArenaArray<Sum>& sums_;
  DumpWriter& out_;
};

/// Writes what rules suppressed, what allow-list rules let through, and rules that matched nothing.
/// If leaks were not requested, `leaks` is nullptr and leak rules are left out.
inline void write_rules(const Suppressions& suppressions, const Leaks* leaks,
                        const SortedMisuses& misuses, DumpWriter& out) {
  const ArenaArray<LiveSum> none;
  TextRules of_leaks(
      leaks == nullptr ? std::span<const SuppressionRule>() : suppressions.leak_rules(),
      leaks == nullptr ? none : leaks->rules, out);
  TextRules of_misuses(suppressions.misuse_rules(), misuses.rules, out);
  of_leaks.write_matching("Suppressed, by rule (blocks, bytes)", false);
  of_leaks.write_matching("Let through, by rule (blocks, bytes)", true);
  of_misuses.write_matching("Misuse suppressed, by rule (ways, times)", false);
  of_misuses.write_matching("Misuse let through, by rule (ways, times)", true);
  if (!of_leaks.has_idle() && !of_misuses.has_idle()) return;
  out << "\nRules that matched nothing\n";
  of_leaks.write_idle();
  of_misuses.write_idle();
}

/// Writer of the report that a `TextDump` describes. The base class is a copy of the options.
class TextDumpWriter : public TextDump {
 public:
  explicit TextDumpWriter(const TextDump& options) noexcept : TextDump(options) {}

  void write_report(const Report& report, const TextSections& sections, DumpWriter& out) const {
    const auto stacks = most_first(report.snapshot.stacks, out);
    const auto mappings = most_first(report.snapshot.mappings, out);
    const TextPeak peak(report, asks_for_leaks() ? 0 : most_stacks, out);
    const FrameList frames(report, shown_stacks(report, sections, stacks, mappings, peak, out));
    if (!frames.complete()) return out.fail("text: the system has no memory for frames");
    write_header(report, out);
    if (sections.write_guards != nullptr) sections.write_guards(report.snapshot.guards, out);
    write_account(report, out);
    write_totals(report, out);
    if (!write_sections(
            sections,
            {.report = report, .stacks = stacks, .frames = frames, .peak = peak, .out = out})) {
      return out.fail("text: the system has no memory for misuse");
    }
    write_mappings(report, mappings, frames, out);
  }

  /// Writes leaks and suppressions in place of the list of live stacks.
  void write_suppressed(const TextParts& parts) const {
    SortedMisuses sorted;
    const bool is_sorted = parts.misuses != nullptr || sort_misuses(*this, parts, sorted);
    if (!is_sorted) return parts.out.fail("text: the system has no memory for misuse");
    const SortedMisuses& misuses = parts.misuses == nullptr ? sorted : *parts.misuses;
    if (leaks) return write_leaks(parts, misuses);
    write_live(parts);
    write_rules(*suppressions.rules(), nullptr, misuses, parts.out);
  }

 private:
  [[nodiscard]] bool asks_for_leaks() const noexcept {
    return suppressions.rules() != nullptr && leaks;
  }

  /// The context of `write_rest`, which writes the sections after the owners.
  struct Rest {
    const TextDumpWriter& dump;
    const TextSections& sections;
  };

  /// Writes the sections from misuse to stacks. Returns false if out of memory for sorting misuses.
  [[nodiscard]] bool write_sections(const TextSections& sections, TextParts parts) const {
    SortedMisuses misuses;
    if (sections.write_misuses != nullptr) {
      if (!sections.sort_misuses(*this, parts, misuses)) return false;
      parts.misuses = &misuses;
      sections.write_misuse_totals(parts.report.snapshot, misuses, parts.out);
    }
    const Rest rest{*this, sections};
    if (sections.write_owners != nullptr) {
      sections.write_owners(parts, &write_rest, &rest);
    } else {
      write_rest(&rest, parts);
    }
    return true;
  }

  static void write_rest(const void* context, TextParts& parts) {
    const auto& [dump, sections] = *static_cast<const Rest*>(context);
    if (sections.write_misuses != nullptr) {
      sections.write_misuses(parts.report, *parts.misuses, parts.frames, parts.out);
    }
    if (sections.write_pools != nullptr) sections.write_pools(parts);
    if (sections.write_game != nullptr) {
      sections.write_game(parts.report, parts.frames, *parts.owners, parts.out);
    }
    if (dump.suppressions.rules() != nullptr) {
      dump.suppressions.write(dump, parts);
    } else {
      dump.write_live(parts);
    }
  }

  /// Writes the stacks that hold live memory, or that held memory at the peak if none is live.
  void write_live(const TextParts& parts) const {
    write_stacks(kLiveTitle, parts, parts.stacks);
    parts.peak.write(parts.frames, [&parts](StackId stack) {
      if (parts.owners != nullptr) parts.write_owner(*parts.owners, stack);
    });
  }

  static void write_header(const Report& report, DumpWriter& out) {
    out << "alloctap " << kVersionString << ": who holds the memory of "
        << PrintableText(report.program.executable) << " (pid " << report.program.pid
        << ")\n  command  ";
    write_command_line(report.program.command, out);
    out << "\n  hook     " << PrintableText(report.backend.hook) << ", stacks by "
        << PrintableText(report.backend.stack) << ", at most " << report.backend.max_frames
        << " frames\n";
    if (!report.backend.blind_spots.empty()) {
      constexpr std::string_view kTitle = "  unseen   ";
      out << kTitle;
      WrappedText(out, kTitle.size()).write(report.backend.blind_spots);
      out << "\n";
    }
    const std::string_view note = report.backend.symbolizer_note();
    if (!note.empty()) out << "  names    " << PrintableText(note) << "\n";
    write_sampling(report.snapshot, out);
  }

  /// Writes `command` with a space in place of each '\0' and line break.
  static void write_command_line(std::string_view command, DumpWriter& out) {
    constexpr std::string_view kEnds("\0\n", 2);
    while (!command.empty()) {
      const std::size_t end = std::min(command.find_first_of(kEnds), command.size());
      out << PrintableText(command.substr(0, end));
      if (end < command.size()) out << ' ';
      command.remove_prefix(std::min(end + 1, command.size()));
    }
  }

  static void write_sampling(const Snapshot& snapshot, DumpWriter& out) {
    const SamplingSummary& sampling = snapshot.sampling;
    write_size_range(sampling.policy, out);
    if (sampling.exact) return;
    if (sampling.policy.mean_bytes == 0) {
      out << "  sampled  by " << PrintableText(sampling.policy.name)
          << ": live and stack numbers are of what was recorded, calls are counted exactly\n";
      return;
    }
    out << "  sampled  1 in about " << human_bytes(sampling.policy.mean_bytes) << "; live bytes "
        << human_bytes(snapshot.totals.live_bytes) << " +- "
        << human_bytes(sampling.live_bytes_margin) << " (95 %), from "
        << counted(sampling.live_samples, "sample") << "\n"
        << "           live and stack numbers are estimates, calls are counted exactly\n";
  }

  static void write_size_range(const SamplingDescription& policy, DumpWriter& out) {
    const bool above = policy.min_bytes > 0;
    const bool below = policy.max_bytes < UINT64_MAX;
    if (!above && !below) return;
    out << "  stacks   of blocks ";
    if (above) out << "from " << counted(policy.min_bytes, "byte") << " on";
    if (above && below) out << ", ";
    if (below) out << "up to " << counted(policy.max_bytes, "byte");
    out << " only\n";
  }

  static void write_account(const Report& report, DumpWriter& out) {
    const DataQuality& account = report.snapshot.account;
    out << "  account  " << counted(account.events, "event") << ", " << with_commas(account.dropped)
        << " dropped, ";
    write_unmatched(account, out);
    out << counted(account.unseen_frees, "free") << " not seen\n"
        << "           " << counted(account.failed_unwinds, "stack") << " cut short, "
        << with_commas(account.truncated_stacks) << " deeper than the limit; "
        << human_bytes(account.tracker_bytes) << " mapped by the tracker itself\n";
    if (misses_unwind_tables(report)) {
      out << "           they end in code without unwind tables; if that was built with "
             "frame\n           pointers, FramePointerStack (alloctap-run --stack=frame-pointer) "
             "sees through it\n";
    }
    if (account.frame_pointer_unwinds > 0) {
      out << "           " << counted(account.frame_pointer_unwinds, "stack")
          << " through code without unwind tables, by its frame pointers\n";
    }
    if (account.pauses > 0) {
      out << "           paused " << counted(account.pauses, "time")
          << ": what was allocated meanwhile is in no number\n";
    }
    if (account.unlogged_events > 0) {
      out << "           " << counted(account.unlogged_events, "event")
          << (account.unlogged_events == 1 ? " is" : " are")
          << " in every number, but not in the event log\n";
    }
    if (!account.consistent) {
      out << "           a thread was stopped inside the tracker: numbers may be off by its "
             "event\n";
    }
  }

  /// Returns whether at least a tenth of all unwinds by unwind tables ended early.
  static bool misses_unwind_tables(const Report& report) noexcept {
    constexpr std::uint64_t kOneIn = 10;
    const std::uint64_t failed = report.snapshot.account.failed_unwinds;
    return report.backend.stack == "unwind-table" && failed > 0 &&
           failed >= report.snapshot.totals.allocations / kOneIn;
  }

  static void write_unmatched(const DataQuality& account, DumpWriter& out) {
    if (account.unmatched_frees) {
      out << counted(*account.unmatched_frees, "free") << " of unknown blocks, ";
    } else {
      out << "frees of unknown blocks cannot be told, ";
    }
  }

  static void write_totals(const Report& report, DumpWriter& out) {
    const Totals& totals = report.snapshot.totals;
    const MappingTotals& mappings = report.snapshot.mapping_totals;
    out << "\nLive now   " << human_bytes(totals.live_bytes) << " in "
        << counted(totals.live_allocations, "block") << " (" << counted(totals.live_bytes, "byte")
        << "); at the peak " << human_bytes(totals.peak_live_bytes) << "\nIn all     "
        << counted(totals.allocations, "allocation") << " of "
        << human_bytes(totals.allocated_bytes) << ", "
        << counted(totals.deallocations, "deallocation") << ", "
        << with_commas(totals.temporary_allocations) << " temporary ("
        << percent(totals.temporary_allocations, totals.allocations) << ")\nMapped     "
        << human_bytes(mappings.live_bytes) << " in " << counted(mappings.live_mappings, "mapping")
        << "; at the peak " << human_bytes(mappings.peak_live_bytes) << "\n";
  }

  using StackOrder = ArenaArray<const StackSummary*>;
  using MappingOrder = ArenaArray<const MappingSummary*>;

  /// Returns the stacks that the report shows or that rules may match. No others are symbolized.
  ArenaArray<StackId> shown_stacks(const Report& report, const TextSections& sections,
                                   const StackOrder& stacks, const MappingOrder& mappings,
                                   const TextPeak& peak, DumpWriter& out) const {
    ArenaArray<StackId> shown;
    const auto add = [&](StackId stack) {
      if (!shown.push_back(stack)) out.fail("text: the system has no memory for it");
    };
    const auto add_first = [&](const auto& order) {
      for (std::size_t i = 0; i < std::min(most_stacks, order.size()); ++i) add(order[i]->stack);
    };
    for (auto* list :
         {sections.list_misuse_stacks, sections.list_pool_stacks, sections.list_game_stacks}) {
      if (list != nullptr && !list(report.snapshot, shown)) {
        out.fail("text: the system has no memory for it");
      }
    }
    add_first(stacks);
    add_first(mappings);
    peak.for_each_shown(add);
    for (const StackSummary& stack : report.snapshot.stacks) {
      if (asks_for_leaks() && stack.live_allocations > 0) add(stack.stack);
    }
    return shown;
  }

  void write_leaks(const TextParts& parts, const SortedMisuses& misuses) const {
    const Snapshot& snapshot = parts.report.snapshot;
    const Result<Leaks> found = find_leaks(snapshot, *suppressions.rules(), parts.frames);
    if (!found.ok()) return parts.out.fail("text: the system has no memory for leaks");
    write_leak_totals(*found, parts.out);
    write_scan(snapshot.scan, *found, parts.out);
    if (snapshot.scan.done) {
      const auto write_list = [&](std::string_view title, ListedBlocks listed) {
        StackOrder list;
        if (!list_stacks(found->stacks, listed, list)) parts.out.fail("text: no memory for leaks");
        write_stacks(title, parts, list, listed);
      };
      write_list("Stacks with blocks that are definitely lost", ListedBlocks::kDefinite);
      write_list("Stacks with blocks that are lost with others", ListedBlocks::kIndirect);
    } else {
      write_stacks("Stacks that leaked", parts, found->stacks);
    }
    write_rules(*suppressions.rules(), &*found, misuses, parts.out);
  }

  static constexpr std::string_view kLiveTitle = "Stacks that hold live memory";

  void write_stacks(std::string_view title, const TextParts& parts, const StackOrder& order,
                    ListedBlocks listed = ListedBlocks::kLive) const {
    const std::size_t shown = std::min(most_stacks, order.size());
    if (shown == 0) return;
    DumpWriter& out = parts.out;
    write_title(title, shown, order.size(), out);
    for (std::size_t i = 0; i < shown; ++i) {
      const StackSummary& stack = *order[i];
      const auto [blocks, bytes] = count_blocks(stack, listed);
      out << "\n#" << i + 1 << "  " << human_bytes(bytes) << " ("
          << percent(bytes, parts.report.snapshot.totals.live_bytes) << ") in "
          << counted(blocks, "block") << "; in all " << with_commas(stack.total.allocations)
          << " of " << human_bytes(stack.total.allocated_bytes) << ", "
          << with_commas(stack.total.temporary_allocations) << " temporary\n";
      if (parts.owners != nullptr) parts.write_owner(*parts.owners, stack.stack);
      write_text_frames(parts.report, stack.stack, parts.frames, out);
    }
  }

  void write_mappings(const Report& report, const MappingOrder& order, const FrameList& frames,
                      DumpWriter& out) const {
    const std::size_t shown = std::min(most_stacks, order.size());
    if (shown == 0) return;
    write_title("Stacks that hold mappings", shown, order.size(), out);
    for (std::size_t i = 0; i < shown; ++i) {
      out << "\n#" << i + 1 << "  " << human_bytes(order[i]->live_bytes) << " in "
          << counted(order[i]->live_mappings, "mapping") << "\n";
      write_text_frames(report, order[i]->stack, frames, out);
    }
  }

  /// Returns the `summaries` with live bytes, most bytes first.
  template <class Summary>
  static ArenaArray<const Summary*> most_first(const ArenaArray<Summary>& summaries,
                                               DumpWriter& out) {
    ArenaArray<const Summary*> order;
    for (const Summary& summary : summaries) {
      if (summary.live_bytes == 0 || order.push_back(&summary)) continue;
      out.fail("text: the system has no memory for the list of stacks");
      break;
    }
    std::sort(order.begin(), order.end(), [](const Summary* a, const Summary* b) {
      return a->live_bytes != b->live_bytes ? a->live_bytes > b->live_bytes : a->stack < b->stack;
    });
    return order;
  }

  static void write_title(std::string_view title, std::size_t shown, std::size_t all,
                          DumpWriter& out) {
    out << "\n" << title << ", most first";
    if (shown < all) out << " (" << shown << " of " << with_commas(all) << ")";
    out << "\n";
  }
};

}  // namespace alloctap
