/// Data that the sections of a text report share.
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

/// The inputs of a text report's sections, apart from the report's options.
struct TextParts {
  const Report& report;
  /// Sorted by live bytes, most first.
  const ArenaArray<const StackSummary*>& stacks;
  const FrameList& frames;
  const TextPeak& peak;
  /// Both are nullptr if stacks have no owners. No code of `TextOwners` is then compiled.
  TextOwners* owners = nullptr;
  void (*write_owner)(TextOwners& owners, StackId stack) = nullptr;
  /// nullptr until the misuses are sorted.
  const SortedMisuses* misuses = nullptr;
  DumpWriter& out;
};

/// Sorts misuses into suppressed and reported ones. Returns false if out of memory.
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
