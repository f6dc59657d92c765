/// Violations of no-allocation scopes in the text report.
#pragma once

#include <algorithm>
#include <cstddef>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/frame_list.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/dump/printable_text.hpp"
#include "alloctap/dump/report.hpp"
#include "alloctap/dump/text_frames.hpp"
#include "alloctap/dump/text_owners.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// The maximum number of violations that a text report shows.
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
