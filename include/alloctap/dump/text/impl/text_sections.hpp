/// Definitions for dump/text/text_sections.hpp.
#pragma once

#include "alloctap/dump/human_units.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/dump/text/text_findings.hpp"
#include "alloctap/dump/text/text_parts.hpp"
#include "alloctap/dump/text/text_sections.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

ALLOCTAP_INLINE void write_text_guards(const GuardPageStats& guards, DumpWriter& out) {
  if (guards.one_in == 0) return;
  out << "  guarded  " << counted(guards.placed, "block") << " beside an inaccessible page";
  if (guards.one_in > 1) out << ", 1 in " << with_commas(guards.one_in);
  if (guards.fell_back > 0) {
    out << "; for " << with_commas(guards.fell_back)
        << " more there was no room (vm.max_map_count, RLIMIT_AS): they are as without";
  }
  if (guards.passed_over > 0) {
    out << "; " << with_commas(guards.passed_over)
        << " more were due in moments of many allocations: they are as without";
  }
  out << "\n";
}

ALLOCTAP_INLINE void add_misuse_sections(TextSections& sections) noexcept {
  sections.list_misuse_stacks = [](const Snapshot& snapshot, ArenaArray<StackId>& stacks) {
    bool complete = true;
    for_each_misuse_stack(snapshot,
                          [&](StackId stack) { complete = stacks.push_back(stack) && complete; });
    return complete;
  };
  sections.sort_misuses = [](const TextDump& dump, const TextParts& parts, SortedMisuses& misuses) {
    return sort_misuses(dump, parts, misuses);
  };
  sections.write_guards = &write_text_guards;
  sections.write_misuse_totals = &write_misuse_totals;
  sections.write_misuses = &write_misuses;
}

ALLOCTAP_INLINE void add_owner_sections(TextSections& sections) noexcept {
  sections.write_owners = [](TextParts& parts, void (*write_rest)(const void*, TextParts&),
                             const void* context) {
    TextOwners owners(parts.report.snapshot, parts.out);
    owners.write();
    parts.owners = &owners;
    parts.write_owner = [](TextOwners& of, StackId stack) { of.write_owner(stack); };
    write_rest(context, parts);
  };
}

ALLOCTAP_INLINE void add_pool_sections(TextSections& sections) noexcept {
  sections.list_pool_stacks = [](const Snapshot& snapshot, ArenaArray<StackId>& stacks) {
    bool complete = true;
    TextPools(snapshot.pools).for_each_shown([&](StackId stack) {
      complete = stacks.push_back(stack) && complete;
    });
    return complete;
  };
  sections.write_pools = [](const TextParts& parts) {
    const auto write_owner = [&parts](StackId stack) {
      if (parts.owners != nullptr) parts.write_owner(*parts.owners, stack);
    };
    TextPools(parts.report.snapshot.pools)
        .write(parts.report, parts.frames, write_owner, parts.out);
  };
}

ALLOCTAP_INLINE void add_game_sections(TextSections& sections) noexcept {
  sections.list_game_stacks = [](const Snapshot& snapshot, ArenaArray<StackId>& stacks) {
    bool complete = true;
    const auto add = [&](StackId stack) { complete = stacks.push_back(stack) && complete; };
    TextGameFrames::for_each_shown(snapshot.frames, add);
    for_each_scope_offence_stack(snapshot, add);
    return complete;
  };
  sections.write_game = [](const Report& report, const FrameList& frames, TextOwners& owners,
                           DumpWriter& out) {
    TextGameFrames(report, frames, owners, out).write();
    write_scope_offences(report, frames, owners, out);
  };
}

}  // namespace alloctap
