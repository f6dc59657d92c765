/// Findings for slow leaks and for buffers that should reserve capacity.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/game/growth_advisor.hpp"
#include "alloctap/game/soak_detector.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/counted_stack.hpp"
#include "alloctap/testing/finding_format.hpp"
#include "alloctap/testing/found_findings.hpp"

namespace alloctap::testing {

/// Returns "grows by 100.5 bytes with each mark: from 64 to 5089 bytes in 50 marks".
[[nodiscard]] inline std::string growth_text(const SoakSuspect& suspect) {
  const auto tenths = static_cast<std::uint64_t>(suspect.bytes_per_mark * 10 + 0.5);
  return "grows by " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
         " bytes with each mark: from " + std::to_string(suspect.first_bytes) + " to " +
         count_text(suspect.last_bytes, "byte") + " in " + count_text(suspect.marks, "mark");
}

/// Returns "reserve(4096 bytes) would save 20 growths and 8184 bytes copied in 2 blocks".
[[nodiscard]] inline std::string growth_text(const GrowthAdvice& advice) {
  const GrowthSums& sums = advice.sums;
  return "reserve(" + count_text(sums.largest_bytes, "byte") + ") would save " +
         count_text(sums.steps, "growth") + " and " + count_text(sums.bytes_copied, "byte") +
         " copied in " + count_text(sums.chains, "block");
}

/// Adds `make(element)` for each element of `grown`, with the element's symbolized stack.
template <class Tracker, class Grown, class Make>
[[nodiscard]] Status add_grown(Findings& findings, std::span<const Grown> grown, Make&& make) {
  std::vector<StackId> stacks;
  for (const Grown& one : grown) stacks.push_back(one.stack);
  const Result<NamedStacks> names = Tracker::name_stacks(stacks);
  if (!names.ok()) return names.status();
  for (const Grown& one : grown) {
    Finding finding = make(one);
    finding.stacks = {{.title = "allocated by", .frames = copy_frames(names->frames(one.stack))}};
    findings.all.push_back(std::move(finding));
  }
  return Status();
}

/// Adds a finding for each slow leak in `suspects`, found by a `SoakDetector` in snapshots of
/// `Tracker`. In the findings, `count` is the number of marks and `bytes` the growth since the
/// first mark. Control plane.
template <class Tracker>
[[nodiscard]] Status add_growth(Findings& findings, std::span<const SoakSuspect> suspects,
                                const TestPlace& test = {}) {
  return add_grown<Tracker>(findings, suspects, [&test](const SoakSuspect& suspect) {
    Finding finding = make_finding(FindingKind::kGrowth, growth_text(suspect), test);
    finding.count = suspect.marks;
    finding.bytes = suspect.last_bytes - std::min(suspect.first_bytes, suspect.last_bytes);
    return finding;
  });
}

/// Adds a note for each suggestion in `advice`, from a `GrowthAdvisor` of `Tracker`. In notes,
/// `count` is the number of growth steps and `bytes` the number of bytes copied. Control plane.
template <class Tracker>
[[nodiscard]] Status add_growth(Findings& findings, std::span<const GrowthAdvice> advice,
                                const TestPlace& test = {}) {
  return add_grown<Tracker>(findings, advice, [&test](const GrowthAdvice& one) {
    Finding finding = make_finding(FindingKind::kReserve, growth_text(one), test);
    finding.level = FindingLevel::kNote;
    finding.count = one.sums.steps;
    finding.bytes = one.sums.bytes_copied;
    return finding;
  });
}

}  // namespace alloctap::testing
