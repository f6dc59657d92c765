/// Findings of memory that grows: what leaks slowly, and what should be reserved at once.
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
#include "alloctap/testing/count_text.hpp"
#include "alloctap/testing/finding.hpp"
#include "alloctap/testing/found_findings.hpp"

namespace alloctap::testing {

/// "grows by 100.5 bytes with each mark: from 64 to 5089 bytes in 50 marks".
[[nodiscard]] inline std::string growth_text(const SoakSuspect& suspect) {
  const auto tenths = static_cast<std::uint64_t>(suspect.bytes_per_mark * 10 + 0.5);
  return "grows by " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
         " bytes with each mark: from " + std::to_string(suspect.first_bytes) + " to " +
         count_text(suspect.last_bytes, "byte") + " in " + count_text(suspect.marks, "mark");
}

/// "reserve(4096 bytes) would save 20 growths and 8184 bytes copied in 2 blocks".
[[nodiscard]] inline std::string growth_text(const GrowthAdvice& advice) {
  const GrowthSums& sums = advice.sums;
  return "reserve(" + count_text(sums.largest_bytes, "byte") + ") would save " +
         count_text(sums.steps, "growth") + " and " + count_text(sums.bytes_copied, "byte") +
         " copied in " + count_text(sums.chains, "block");
}

/// Adds `make(element)` for each of `grown`, with the name of its stack.
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

/// A finding for each stack that leaks slowly, as `SoakDetector::suspects` tells of `Tracker`: an
/// `ArenaArray` of its is a span. Its count is of marks, its bytes are what it holds more than at
/// the first of them. Control plane.
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

/// A note for each stack whose blocks grow step by step, as `GrowthAdvisor::advice` tells of
/// `Tracker`. Its count is of growths, its bytes are those that were copied. Control plane.
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
