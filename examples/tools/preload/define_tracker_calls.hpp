/// Defines the functions of `tracker_calls.hpp` for `RunTracker`; for one source file of a library
/// with one tracker.
#pragma once

// The library's own: each has one in its folder.
#include <run_tracker.hpp>

#include "alloctap/status.hpp"
#include "tracker_calls.hpp"
#include "tracker_calls_of.hpp"

namespace alloctap::run {

using RunTrackerCalls = TrackerCallsOf<RunTracker>;

Result<Snapshot> take_snapshot(const SnapshotOptions& options) {
  return RunTrackerCalls::take_snapshot(options);
}

Status dump(const Snapshot& snapshot, const ChosenDump& policy, OutputRef output) {
  return RunTrackerCalls::dump(snapshot, policy, output);
}

std::uint64_t live_bytes() noexcept { return RunTrackerCalls::live_bytes(); }

void add_timeline_point() noexcept { RunTrackerCalls::add_timeline_point(); }

bool has_leaks(const Snapshot& snapshot, const Suppressions& suppressions) {
  return RunTrackerCalls::has_leaks(snapshot, suppressions);
}

bool has_misuses(const Snapshot& snapshot, const Suppressions& suppressions) {
  return RunTrackerCalls::has_misuses(snapshot, suppressions);
}

void verify_blocks() noexcept { RunTrackerCalls::verify_blocks(); }

bool found_misuse() noexcept { return RunTrackerCalls::found_misuse(); }

bool has_guard_pages() noexcept { return RunTrackerCalls::has_guard_pages(); }

}  // namespace alloctap::run
