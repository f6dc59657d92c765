/// Verifies a snapshot against its event log.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "alloctap/snapshot/replay.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// A number that differs from the replay.
struct ReplayDifference {
  std::string_view name;
  /// `kNoStackId` for a sum over all stacks.
  StackId stack = kNoStackId;
  std::uint64_t recorded = 0;
  std::uint64_t replayed = 0;
};

/// Returns the tolerated difference of peaks: 0 with one thread. With several it is the bound of
/// `LiveBytes`, plus the bytes that are logged but not yet counted. Threads may be stopped in
/// between while others reach the peak.
[[nodiscard]] inline std::uint64_t peak_tolerance(const Snapshot& snapshot,
                                                  const Replay& replay) noexcept {
  const std::uint64_t threads = std::max<std::uint64_t>(replay.threads(), snapshot.threads.size());
  if (threads <= 1) return 0;
  return std::max(snapshot.totals.peak_live_bytes / 512, 4096 * threads) +
         replay.most_bytes_under_way();
}

/// Calls `visit(const ReplayDifference&)` for each difference. Does not compare peaks within
/// `peak_tolerance`, or unmatched frees if the snapshot does not know them. Temporary allocations
/// are skipped after a pause, in which threads may allocate unseen, and may differ by
/// `open_reallocations`.
template <class Visit>
void visit_replay_differences(const Snapshot& snapshot, const Replay& replay, Visit&& visit) {
  StackId stack = kNoStackId;
  const auto compare = [&](std::string_view name, std::uint64_t recorded, std::uint64_t replayed) {
    if (recorded != replayed) visit(ReplayDifference{name, stack, recorded, replayed});
  };
  const auto compare_temporary = [&](std::uint64_t recorded, std::uint64_t replayed) {
    const bool open = replayed >= recorded && replayed - recorded <= replay.open_reallocations();
    const bool paused = snapshot.account.pauses > 0;
    if (!open && !paused) compare("temporary allocations", recorded, replayed);
  };
  const Totals& recorded = snapshot.totals;
  const Totals& replayed = replay.totals();
  compare("allocations", recorded.allocations, replayed.allocations);
  compare("deallocations", recorded.deallocations, replayed.deallocations);
  compare("allocated bytes", recorded.allocated_bytes, replayed.allocated_bytes);
  compare("live allocations", recorded.live_allocations, replayed.live_allocations);
  compare("live bytes", recorded.live_bytes, replayed.live_bytes);
  compare_temporary(recorded.temporary_allocations, replayed.temporary_allocations);
  const std::uint64_t higher = std::max(recorded.peak_live_bytes, replayed.peak_live_bytes);
  const std::uint64_t lower = std::min(recorded.peak_live_bytes, replayed.peak_live_bytes);
  if (higher - lower > peak_tolerance(snapshot, replay)) {
    compare("peak of live bytes", recorded.peak_live_bytes, replayed.peak_live_bytes);
  }
  compare("frees not seen", snapshot.account.unseen_frees, replay.unseen_frees());
  if (snapshot.account.unmatched_frees) {
    compare("frees of unknown blocks", *snapshot.account.unmatched_frees, replay.unmatched_frees());
  }
  for (const StackSummary& summary : snapshot.stacks) {
    stack = summary.stack;
    const StackSummary& again = replay.of(stack);
    compare("allocations", summary.total.allocations, again.total.allocations);
    compare("allocated bytes", summary.total.allocated_bytes, again.total.allocated_bytes);
    compare("live allocations", summary.live_allocations, again.live_allocations);
    compare("live bytes", summary.live_bytes, again.live_bytes);
    compare_temporary(summary.total.temporary_allocations, again.total.temporary_allocations);
  }
}

}  // namespace alloctap
