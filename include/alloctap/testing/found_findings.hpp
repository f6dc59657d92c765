/// Conversion of results of trackers and tests into findings.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "alloctap/check/misuse.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/game/allocation_scopes.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/by_tag.hpp"
#include "alloctap/snapshot/frame_history.hpp"
#include "alloctap/snapshot/leaks.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/sorted_misuses.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/allocation_baseline.hpp"
#include "alloctap/testing/counted_stack.hpp"
#include "alloctap/testing/finding_format.hpp"
#include "alloctap/testing/leaked_case.hpp"

namespace alloctap::testing {

/// The test that a finding belongs to; either member may be empty.
struct TestPlace {
  std::string_view test_suite = {};
  std::string_view test_case = {};
};

[[nodiscard]] inline Finding make_finding(FindingKind kind, std::string message,
                                          const TestPlace& test = {}) {
  return {.kind = kind,
          .message = std::move(message),
          .test_suite = std::string(test.test_suite),
          .test_case = std::string(test.test_case)};
}

/// Adds a finding for each stack of `leaked`.
inline void add_leaks(Findings& findings, const LeakedCase& leaked,
                      std::string_view test_suite = {}) {
  for (const LeakedStack& stack : leaked.stacks) {
    Finding finding = make_finding(
        FindingKind::kLeak, count_text(stack.bytes, stack.blocks) + " leaked each time it runs",
        {.test_suite = test_suite, .test_case = leaked.name});
    if (!stack.part.empty()) finding.message += ", allocated in \"" + stack.part + "\"";
    finding.stacks = {{.title = "allocated by", .frames = stack.frames}};
    finding.count = stack.blocks;
    finding.bytes = stack.bytes;
    findings.all.push_back(std::move(finding));
  }
}

/// Adds one finding with all changed stacks, if `result` is a failure.
inline void add_baseline(Findings& findings, const BaselineResult& result,
                         const TestPlace& test = {}) {
  if (result) return;
  Finding finding = make_finding(FindingKind::kBaseline, result.summary(), test);
  finding.count = result.comparison().after.allocations;
  finding.bytes = result.comparison().after.bytes;
  for (const BaselineChange& change : result.comparison().changes) {
    FindingStack stack{.title = change_text(change), .frames = {}};
    for (const std::string& text : change.stack) {
      const std::size_t gap = std::min(text.find("  "), text.size());
      FrameText frame;
      frame.module = text.substr(0, gap);
      frame.function = text.substr(std::min(gap + 2, text.size()));
      stack.frames.push_back(std::move(frame));
    }
    finding.stacks.push_back(std::move(stack));
  }
  findings.all.push_back(std::move(finding));
}

/// Adds a finding for each leaking stack in `found`, a result of `Tracker::find_leaks`. Fails if
/// the stacks cannot be symbolized. Control plane.
template <class Tracker>
[[nodiscard]] Status add_leaks(Findings& findings, const FoundLeaks& found,
                               const TestPlace& test = {}) {
  std::vector<StackId> stacks;
  for (const StackSummary* stack : found.leaks.stacks) stacks.push_back(stack->stack);
  const Result<NamedStacks> names = Tracker::name_stacks(stacks);
  if (!names.ok()) return names.status();
  for (const StackSummary* stack : found.leaks.stacks) {
    const UnreachableSum& lost = stack->unreachable;
    const bool scanned = found.snapshot.scan.done;
    Finding finding = make_finding(FindingKind::kLeak, {}, test);
    finding.count = scanned ? lost.allocations() : stack->live_allocations;
    finding.bytes = scanned ? lost.bytes() : stack->live_bytes;
    finding.message = count_text(finding.bytes, finding.count) + " leaked";
    finding.stacks = {
        {.title = "allocated by", .frames = copy_frames(names->frames(stack->stack))}};
    findings.all.push_back(std::move(finding));
  }
  return Status();
}

[[nodiscard]] inline Finding misuse_finding(const CountedMisuse& counted, const NamedStacks& names,
                                            const TestPlace& test) {
  const Misuse& misuse = counted.first;
  const BlockHistory& block = misuse.block;
  Finding finding = make_finding(FindingKind::kMisuse, std::string(name_of(misuse)), test);
  finding.count = counted.times;
  const auto add_stack = [&](const BlockCall& call, const char* title) {
    finding.stacks.push_back({.title = title, .frames = copy_frames(names.frames(call.stack))});
  };
  if (!misuse.by_sweep) add_stack(misuse.found, "found in");
  if (!block.known) return finding;
  finding.message += ": a block of " + count_text(block.size, "byte");
  finding.bytes = block.size;
  if (block.freed) add_stack(block.gone, "freed by");
  add_stack(block.allocated, "allocated by");
  return finding;
}

/// Adds a finding for each fault of `snapshot` that `sorted` does not suppress. Control plane.
template <class Tracker>
[[nodiscard]] Status add_misuses(Findings& findings, const Snapshot& snapshot,
                                 const SortedMisuses& sorted, const TestPlace& test = {}) {
  std::vector<StackId> stacks;
  for_each_misuse_stack(snapshot, [&](StackId stack) { stacks.push_back(stack); });
  const Result<NamedStacks> names = Tracker::name_stacks(stacks);
  if (!names.ok()) return names.status();
  for (std::size_t i = 0; i < snapshot.misuses.size(); ++i) {
    if (sorted.rule_of_fault[i] != Suppressions::kNoRule) continue;
    findings.all.push_back(misuse_finding(snapshot.misuses[i], *names, test));
  }
  return Status();
}

/// Adds a finding for each stack that violated a no-allocation scope. Control plane.
template <class Tracker>
[[nodiscard]] Status add_offences(Findings& findings, const ScopeOffences& offences,
                                  const TestPlace& test = {}) {
  ArenaArray<OffenceSum> sums;
  if (!offences.copy_to(sums)) {
    return Status::resource_exhausted("findings: the system has no memory for offences");
  }
  std::vector<StackId> stacks;
  for (const OffenceSum& sum : sums) stacks.push_back(sum.stack);
  const Result<NamedStacks> names = Tracker::name_stacks(stacks);
  if (!names.ok()) return names.status();
  for (const OffenceSum& sum : sums) {
    Finding finding = make_finding(FindingKind::kAllocation, {}, test);
    finding.message = count_text(sum.sums.allocations, "allocation") + " of " +
                      count_text(sum.sums.bytes, "byte") + " and " +
                      count_text(sum.sums.frees, "free") + " in \"" + std::string(sum.scope()) +
                      "\", which forbids them";
    finding.count = sum.sums.allocations + sum.sums.frees;
    finding.bytes = sum.sums.bytes;
    finding.stacks = {{.title = "allocated by", .frames = copy_frames(names->frames(sum.stack))}};
    findings.all.push_back(std::move(finding));
  }
  return Status();
}

/// Adds a finding for each budget offence in `snapshot`. Control plane.
template <class Tracker>
[[nodiscard]] Status add_budgets(Findings& findings, const Snapshot& snapshot,
                                 const TestPlace& test = {}) {
  std::vector<StackId> stacks;
  for (const BudgetOffence& offence : snapshot.frames.offences) stacks.push_back(offence.stack);
  const Result<NamedStacks> names = Tracker::name_stacks(stacks);
  if (!names.ok()) return names.status();
  const TagPaths paths(snapshot.tags);
  for (const BudgetOffence& offence : snapshot.frames.offences) {
    Finding finding = make_finding(FindingKind::kBudget, {}, test);
    const std::string_view tag = paths.of(offence.tag);
    finding.message = std::string(name_of(offence.kind)) + " of " + std::to_string(offence.value) +
                      " in frame " + std::to_string(offence.frame) + ", where \"" +
                      std::string(tag.empty() ? "the whole program" : tag) + "\" may have " +
                      std::to_string(offence.limit);
    finding.count = 1;
    finding.stacks = {
        {.title = "allocated by", .frames = copy_frames(names->frames(offence.stack))}};
    findings.all.push_back(std::move(finding));
  }
  return Status();
}

}  // namespace alloctap::testing
