/// How a tracker takes its snapshots.
#pragma once

#include <utility>

#include "alloctap/arch/own_registers.hpp"
#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/reachability_scan.hpp"
#include "alloctap/record/checking_recorder.hpp"
#include "alloctap/record/recorder.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/take_snapshot.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Snapshots of the tracker with that `Config`. Control plane, behind the control lock.
template <class Config>
class TrackerSnapshot {
  using Sink = RecorderOf<Config>;

 public:
  /// A session has begun.
  static void note_start() noexcept { saw_process_start_ = Sink::in_first_call(); }

  /// As `Tracker::snapshot`, with no look for unreachable blocks.
  static Result<Snapshot> take(SnapshotOptions options = {}) {
    Sink::Epochs::update_locked();
    Sink recorder;
    SnapshotBuilder builder(recorder, options);
    const bool quiet = ThreadStates::close_gate();
    if (quiet) Sink::queue().flush();
    builder.read();
    PoolsSummary pools;
    const bool has_pools = add_pools(pools);
    ThreadStates::open_gate();
    Result<Snapshot> finished = builder.finish();
    if (!finished.ok()) return finished.status();
    Snapshot snapshot = *std::move(finished);
    snapshot.pools = std::move(pools);
    if (!has_pools) return Status::resource_exhausted("snapshot: no memory for pools");
    if (!add_timeline(snapshot)) {
      return Status::resource_exhausted("snapshot: the system has no memory for its timeline");
    }
    snapshot.account.consistent = quiet;
    snapshot.account.pauses = Sink::detours().pauses();
    if (snapshot.account.pauses > 0 || !snapshot.sampling.exact ||
        active_capabilities<typename Config::Hook>().misses_allocations) {
      leave_out_unmatched(snapshot.account);
    }
    return snapshot;
  }

  /// With one: first the copy is made, and while it is scanned, the snapshot is taken. `mine`: the
  /// registers of a caller.
  static Result<Snapshot> take_scanned(SnapshotOptions options, const arch::RegisterValues& mine,
                                       bool running) {
    ReachabilityScan<Config> scan;
    Status status = scan.begin(mine, running && knows_all_blocks());
    if (!status.ok()) return status;
    Result<Snapshot> snapshot = take(options);
    if (!snapshot.ok()) return snapshot;
    status = scan.finish(*snapshot);
    if (!status.ok()) return status;
    return snapshot;
  }

 private:
  /// Whether whatever was ever allocated was recorded, and whatever was mapped.
  static bool knows_all_blocks() noexcept {
    const HookCapabilities capabilities = active_capabilities<typename Config::Hook>();
    const bool since_first =
        saw_process_start_ || earlier_blocks<typename Config::Hook>().has_value();
    return since_first && Sink::detours().pauses() == 0 && !capabilities.misses_allocations &&
           capabilities.sees_mappings && Sink::records_mappings();
  }

  /// Behind the closed gate.
  static bool add_pools([[maybe_unused]] PoolsSummary& pools) noexcept {
    if constexpr (Config::Pools::kHears) return Config::Pools::template For<Sink>::add_to(pools);
    return true;
  }

  /// With the present as its last point.
  static bool add_timeline(Snapshot& snapshot) noexcept {
    const Totals& totals = snapshot.totals;
    return Sink::copy_timeline(snapshot) && copy_misuses<Sink>(snapshot) &&
           snapshot.timeline.push_back({.time_ns = snapshot.time_ns,
                                        .live_bytes = totals.live_bytes,
                                        .live_allocations = totals.live_allocations,
                                        .allocations = totals.allocations,
                                        .allocated_bytes = totals.allocated_bytes,
                                        .resident_bytes = os::resident_bytes()});
  }

  static void leave_out_unmatched(DataQuality& account) noexcept {
    account.events -= account.unmatched_frees.value_or(0);
    account.unmatched_frees.reset();
  }

  /// Whether the present session, or the last, saw the first allocation of the process.
  static inline constinit bool saw_process_start_ = false;
};

}  // namespace alloctap
