/// Finds leaks in a snapshot.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/annotate.h"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/suppressions.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Number and bytes of live blocks, and number of the stacks that allocated them.
struct LiveSum {
  std::uint64_t stacks = 0;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;

  /// Adds the blocks of one stack. Ignores the stack if `allocations` is 0.
  constexpr void add(std::uint64_t allocations, std::uint64_t bytes) noexcept {
    if (allocations == 0) return;
    ++stacks;
    live_allocations += allocations;
    live_bytes += bytes;
  }
};

/// The leaked blocks of a snapshot, divided into reported and suppressed ones. Leaked blocks are
/// the live or, after a scan, the unreachable blocks. Refers to the snapshot. Allocated in the
/// arena.
struct Leaks {
  static constexpr std::uint32_t kNoRule = Suppressions::kNoRule;
  /// In `rule_of_stack`: the program expects the blocks to stay, so they are suppressed.
  static constexpr std::uint32_t kExpectedToStay = kNoRule - 1;

  /// Leaks that are not suppressed.
  LiveSum leaked;
  LiveSum suppressed;
  /// After a scan, the definitely and indirectly lost parts of `leaked`; a stack may have both.
  LiveSum definite;
  LiveSum indirect;
  /// Stacks with unsuppressed leaks. Stacks with definitely lost blocks precede all others. Both
  /// groups are sorted by leaked bytes, largest first.
  ArenaArray<const StackSummary*> stacks;
  /// For each stack of the snapshot, the index of the rule that suppresses it, `kExpectedToStay`,
  /// or `kNoRule`.
  ArenaArray<std::uint32_t> rule_of_stack;
  /// For each leak rule, the leaks that matched it. A rule whose sum has no stacks matched no leak.
  ArenaArray<LiveSum> rules;
};

/// A snapshot and its leaks, which refer to the snapshot.
struct FoundLeaks {
  Snapshot snapshot;
  Leaks leaks;
};

/// Finds the leaks of a snapshot: its live blocks or, after a scan, its unreachable blocks. The
/// innermost frame that any suppression rule matches decides: the first rule that matches this
/// frame suppresses the stack. `only-` rules are matched in the same way; the `only-` rule found
/// counts the stack. If there are `only-` rules but none matches, the first `only-` rule suppresses
/// the stack. Rules do not match blocks without a stack. Blocks allocated in a scope
/// `expected_to_stay` (annotate.hpp) are suppressed without a rule.
///
/// `Frames` is an indexed list of frames such as `FrameList` (dump/named_stacks.hpp): `size()`,
/// `index_of(stack, address)`, `source(i)`, `place(i)`. Each frame is matched to the rules once.
template <class Frames>
class LeakFinder {
 public:
  LeakFinder(const Snapshot& snapshot, const Suppressions& suppressions,
             const Frames& frames) noexcept
      : snapshot_(snapshot), suppressions_(suppressions), frames_(frames) {}

  /// Returns the leaks. Call it once. Fails if out of memory.
  [[nodiscard]] Result<Leaks> find() {
    const std::size_t stacks = snapshot_.stacks.size();
    bool complete = rules_of_frame_.resize(frames_.size()) &&
                    leaks_.rule_of_stack.reserve(stacks) &&
                    leaks_.rules.resize(suppressions_.leak_rules().size());
    for (std::size_t i = 0; complete && i < frames_.size(); ++i) {
      rules_of_frame_[i] = {.suppressing = rule_of(i, false), .allowing = rule_of(i, true)};
    }
    for (std::size_t i = 0; complete && i < stacks; ++i) complete = sort_in(snapshot_.stacks[i]);
    if (!complete) return Status::resource_exhausted("leaks: the system has no memory for them");
    std::sort(leaks_.stacks.begin(), leaks_.stacks.end(),
              [this](const StackSummary* a, const StackSummary* b) { return holds_more(*a, *b); });
    return std::move(leaks_);
  }

 private:
  /// Sum over the live or, after a scan, the unreachable blocks of a stack.
  struct Held {
    std::uint64_t allocations = 0;
    std::uint64_t bytes = 0;
  };

  /// The first suppression rule and the first `only-` rule that match a frame.
  struct FrameRules {
    std::uint32_t suppressing = Leaks::kNoRule;
    std::uint32_t allowing = Leaks::kNoRule;
  };

  [[nodiscard]] Held held_by(const StackSummary& stack) const noexcept {
    if (!snapshot_.scan.done) return {stack.live_allocations, stack.live_bytes};
    return {stack.unreachable.allocations(), stack.unreachable.bytes()};
  }

  [[nodiscard]] bool holds_more(const StackSummary& a, const StackSummary& b) const noexcept {
    const bool a_definite = a.unreachable.definite_allocations > 0;
    const bool b_definite = b.unreachable.definite_allocations > 0;
    if (a_definite != b_definite) return a_definite;
    const std::uint64_t a_bytes = held_by(a).bytes;
    const std::uint64_t b_bytes = held_by(b).bytes;
    return a_bytes != b_bytes ? a_bytes > b_bytes : a.stack < b.stack;
  }

  bool sort_in(const StackSummary& stack) {
    const auto [allocations, bytes] = held_by(stack);
    const RuleVerdict verdict = allocations == 0 ? RuleVerdict() : verdict_on(stack);
    std::uint32_t rule = verdict.suppressed_by;
    if (allocations > 0 && rule == Leaks::kNoRule && is_expected_to_stay(stack)) {
      rule = Leaks::kExpectedToStay;
    }
    if (!leaks_.rule_of_stack.push_back(rule)) return false;
    if (allocations == 0) return true;
    if (verdict.matched != Leaks::kNoRule) leaks_.rules[verdict.matched].add(allocations, bytes);
    if (rule != Leaks::kNoRule) {
      leaks_.suppressed.add(allocations, bytes);
      return true;
    }
    const UnreachableSum& lost = stack.unreachable;
    leaks_.leaked.add(allocations, bytes);
    leaks_.definite.add(lost.definite_allocations, lost.definite_bytes);
    leaks_.indirect.add(lost.indirect_allocations, lost.indirect_bytes);
    return leaks_.stacks.push_back(&stack);
  }

  [[nodiscard]] bool is_expected_to_stay(const StackSummary& stack) const noexcept {
    if (snapshot_.tags == nullptr) return false;
    TagId tag = snapshot_.table->owner(stack.stack).tag;
    while (tag != kNoTag && snapshot_.tags->name(tag) != ALLOCTAP_EXPECTED_TO_STAY) {
      tag = snapshot_.tags->parent(tag);
    }
    return tag != kNoTag;
  }

  [[nodiscard]] RuleVerdict verdict_on(const StackSummary& stack) const {
    const std::uint32_t first_allowing =
        find_rule(suppressions_.leak_rules(), true, [](const SuppressionRule&) { return true; });
    return RuleVerdict::of(innermost(stack, &FrameRules::suppressing),
                           innermost(stack, &FrameRules::allowing), first_allowing);
  }

  [[nodiscard]] std::uint32_t innermost(const StackSummary& stack,
                                        std::uint32_t FrameRules::* which) const {
    for (const std::uintptr_t frame : snapshot_.table->frames(stack.stack)) {
      const std::uint32_t rule = rules_of_frame_[frames_.index_of(stack.stack, frame)].*which;
      if (rule != Leaks::kNoRule) return rule;
    }
    return Leaks::kNoRule;
  }

  [[nodiscard]] std::uint32_t rule_of(std::size_t frame, bool only) const {
    return find_rule(suppressions_.leak_rules(), only, [&](const SuppressionRule& rule) {
      return names_frame(rule.pattern, frames_, frame);
    });
  }

  const Snapshot& snapshot_;
  const Suppressions& suppressions_;
  const Frames& frames_;
  ArenaArray<FrameRules> rules_of_frame_;
  Leaks leaks_;
};

/// Returns the leaks of `snapshot`, which must outlive the result. `frames` must contain all frames
/// of all stacks with live blocks.
template <class Frames>
[[nodiscard]] Result<Leaks> find_leaks(const Snapshot& snapshot, const Suppressions& suppressions,
                                       const Frames& frames) {
  return LeakFinder(snapshot, suppressions, frames).find();
}

}  // namespace alloctap
