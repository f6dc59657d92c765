/// What reports ask of one tracker.
#pragma once

#include <alloctap/snapshot/snapshot.hpp>
#include <alloctap/snapshot/suppressions.hpp>
#include <cstdint>

#include "alloctap/status.hpp"
#include "chosen_dump.hpp"

namespace alloctap::run {

/// The functions of `tracker_calls.hpp`, for `Tracker`.
template <class Tracker>
struct TrackerCallsOf {
  static Result<Snapshot> take_snapshot(const SnapshotOptions& options) {
    return Tracker::snapshot(options);
  }

  static Status dump(const Snapshot& snapshot, const ChosenDump& policy, OutputRef output) {
    return Tracker::dump(snapshot, policy, output);
  }

  static std::uint64_t live_bytes() noexcept { return Tracker::live_bytes(); }

  static void add_timeline_point() noexcept { Tracker::add_timeline_point(); }

  static bool has_leaks(const Snapshot& snapshot, const Suppressions& suppressions) {
    const Result<Leaks> leaks = Tracker::leaks(snapshot, suppressions);
    return leaks.ok() && leaks->leaked.live_allocations > 0;
  }

  static bool has_misuses(const Snapshot& snapshot, const Suppressions& suppressions) {
    if (snapshot.misuses.empty()) return false;
    const Result<SortedMisuses> sorted = Tracker::misuses(snapshot, suppressions);
    return !sorted.ok() || sorted->reported.ways > 0 || snapshot.misuses_left_out > 0;
  }

  static void verify_blocks() noexcept {
    if constexpr (requires { Tracker::verify_all(); }) static_cast<void>(Tracker::verify_all());
  }

  static bool found_misuse() noexcept {
    if constexpr (requires { ::alloctap::SinkOf<Tracker>::misuses(); }) {
      return ::alloctap::SinkOf<Tracker>::misuses().found() > 0;
    }
    return false;
  }

  static bool has_guard_pages() noexcept {
    if constexpr (requires { ::alloctap::SinkOf<Tracker>::guard_page_stats(); }) {
      return ::alloctap::SinkOf<Tracker>::guard_page_stats().one_in != 0;
    }
    return false;
  }
};

}  // namespace alloctap::run
