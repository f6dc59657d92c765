/// What the parts of a text report share.
#pragma once

#include <utility>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/dumps.hpp"
#include "alloctap/dump/frame_list.hpp"
#include "alloctap/dump/report.hpp"
#include "alloctap/dump/text_owners.hpp"
#include "alloctap/dump/text_peak.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/sorted_misuses.hpp"
#include "alloctap/snapshot/suppressions.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// What a text report has beside its options.
struct TextParts {
  const Report& report;
  /// Most bytes first.
  const ArenaArray<const StackSummary*>& stacks;
  const FrameList& frames;
  const TextPeak& peak;
  /// Both nullptr where stacks have no owners: then nothing of `TextOwners` is compiled.
  TextOwners* owners = nullptr;
  void (*write_owner)(TextOwners& owners, StackId stack) = nullptr;
  /// nullptr where they are not sorted yet.
  const SortedMisuses* misuses = nullptr;
  DumpWriter& out;
};

/// Sorts faults by the suppressions of `dump`; false where the system has no memory.
[[nodiscard]] inline bool sort_misuses(const TextDump& dump, const TextParts& parts,
                                       SortedMisuses& misuses) {
  const Suppressions none;
  const Suppressions* const rules = dump.suppressions.rules();
  Result<SortedMisuses> sorted =
      sort_misuses(parts.report.snapshot, rules == nullptr ? none : *rules, parts.frames);
  if (sorted.ok()) misuses = *std::move(sorted);
  return sorted.ok();
}

}  // namespace alloctap
