/// Defines the functions of `tracker_calls.hpp`; for one source file of each library that tracks.
#pragma once

// The library's own: each has one in its folder.
#include <run_tracker.hpp>

#include "alloctap/status.hpp"
#include "tracker_calls.hpp"

namespace alloctap::run {

Result<Snapshot> take_snapshot(const SnapshotOptions& options) {
  return RunTracker::snapshot(options);
}

Status dump(const Snapshot& snapshot, const ChosenDump& policy, FileOutput output) {
  return RunTracker::dump(snapshot, policy, output);
}

Status dump(const Snapshot& snapshot, const ChosenDump& policy, DescriptorOutput output) {
  return RunTracker::dump(snapshot, policy, output);
}

std::uint64_t live_bytes() noexcept { return RunTracker::live_bytes(); }

void add_timeline_point() noexcept { RunTracker::add_timeline_point(); }

bool has_leaks(const Snapshot& snapshot, const Suppressions& suppressions) {
  const Result<Leaks> leaks = RunTracker::leaks(snapshot, suppressions);
  return leaks.ok() && leaks->leaked.live_allocations > 0;
}

bool has_misuses(const Snapshot& snapshot, const Suppressions& suppressions) {
  if (snapshot.misuses.empty()) return false;
  const Result<SortedMisuses> sorted = RunTracker::misuses(snapshot, suppressions);
  return !sorted.ok() || sorted->reported.ways > 0 || snapshot.misuses_left_out > 0;
}

template <class Tracker>
void verify_blocks_of() noexcept {
  if constexpr (requires { Tracker::verify_all(); }) static_cast<void>(Tracker::verify_all());
}

template <class Tracker>
bool finds_misuse() noexcept {
  if constexpr (requires { ::alloctap::SinkOf<Tracker>::misuses(); })
    return ::alloctap::SinkOf<Tracker>::misuses().found() > 0;
  return false;
}

template <class Tracker>
bool guards_pages() noexcept {
  if constexpr (requires { ::alloctap::SinkOf<Tracker>::guard_account(); }) {
    return ::alloctap::SinkOf<Tracker>::guard_account().one_in != 0;
  }
  return false;
}

void verify_blocks() noexcept { verify_blocks_of<RunTracker>(); }

bool found_misuse() noexcept { return finds_misuse<RunTracker>(); }

bool has_guard_pages() noexcept { return guards_pages<RunTracker>(); }

}  // namespace alloctap::run
