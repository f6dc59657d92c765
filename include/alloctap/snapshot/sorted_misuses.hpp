/// Divides faults into reported and suppressed ones.
#pragma once

#include <cstdint>
#include <utility>

#include "alloctap/check/misuse.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/suppressions.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Number of distinct faults, and number of their occurrences.
struct MisuseSum {
  std::uint64_t ways = 0;
  std::uint64_t times = 0;

  constexpr void add(std::uint64_t more) noexcept {
    ++ways;
    times += more;
  }
};

/// The faults of a snapshot, divided into reported and suppressed ones. Allocated in the arena.
struct SortedMisuses {
  MisuseSum reported;
  MisuseSum suppressed;
  /// For each fault of the snapshot, the index of the rule that suppresses it, or `kNoRule`.
  ArenaArray<std::uint32_t> rule_of_fault;
  /// For each fault rule, the faults that matched it. A rule without faults is unused.
  ArenaArray<MisuseSum> rules;
};

/// Divides the faults of a snapshot by suppression rules. The first rule that matches the fault's
/// kind and a frame in any of its stacks suppresses the fault. `only-` rules for the kind are
/// matched in the same way. If there are such rules but none matches, the first of them suppresses
/// the fault.
///
/// `frames` must contain all frames of all faults. `names_frame` describes `Frames`.
template <class Frames>
class MisuseSorter {
 public:
  MisuseSorter(const Snapshot& snapshot, const Suppressions& suppressions,
               const Frames& frames) noexcept
      : snapshot_(snapshot), suppressions_(suppressions), frames_(frames) {}

  /// Returns the result. Call it once. Fails if out of memory.
  [[nodiscard]] Result<SortedMisuses> sort() {
    bool complete = sorted_.rules.resize(suppressions_.misuse_rules().size());
    for (const CountedMisuse& counted : snapshot_.misuses) complete = complete && sort_in(counted);
    if (complete) return std::move(sorted_);
    return Status::resource_exhausted("misuse: the system has no memory for its rules");
  }

 private:
  bool sort_in(const CountedMisuse& counted) {
    const RuleVerdict verdict = verdict_on(counted.first);
    if (!sorted_.rule_of_fault.push_back(verdict.suppressed_by)) return false;
    if (verdict.matched != Suppressions::kNoRule) sorted_.rules[verdict.matched].add(counted.times);
    const bool shown = verdict.suppressed_by == Suppressions::kNoRule;
    (shown ? sorted_.reported : sorted_.suppressed).add(counted.times);
    return true;
  }

  [[nodiscard]] RuleVerdict verdict_on(const Misuse& misuse) const {
    const auto rules = suppressions_.misuse_rules();
    const auto is_of = [&](const SuppressionRule& rule) {
      return rule.kinds.contains(misuse.kind);
    };
    const auto holds = [&](const SuppressionRule& rule) {
      return is_of(rule) && names(rule, misuse);
    };
    return RuleVerdict::of(find_rule(rules, false, holds), find_rule(rules, true, holds),
                           find_rule(rules, true, is_of));
  }

  [[nodiscard]] bool names(const SuppressionRule& rule, const Misuse& misuse) const {
    bool named = false;
    for_each_stack(misuse, [&](StackId stack) {
      for (const std::uintptr_t frame : snapshot_.table->frames(stack)) {
        named = named || names_frame(rule.pattern, frames_, frames_.index_of(stack, frame));
      }
    });
    return named;
  }

  const Snapshot& snapshot_;
  const Suppressions& suppressions_;
  const Frames& frames_;
  SortedMisuses sorted_;
};

/// Returns the sorted faults of `snapshot`. `frames` must contain all frames of their stacks.
template <class Frames>
[[nodiscard]] Result<SortedMisuses> sort_misuses(const Snapshot& snapshot,
                                                 const Suppressions& suppressions,
                                                 const Frames& frames) {
  return MisuseSorter(snapshot, suppressions, frames).sort();
}

}  // namespace alloctap
