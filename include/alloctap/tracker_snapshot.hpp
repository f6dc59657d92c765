/// Snapshots of a tracker, with or without a leak scan.
#pragma once

#include <span>
#include <utility>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/record/checking_recorder.hpp"
#include "alloctap/record/recorder.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/snapshot/reach/reachability_scan.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/take_snapshot.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Copies the faults that a checking `Sink` found. Returns false if out of memory.
template <class Sink>
[[nodiscard]] bool copy_misuses(Snapshot& snapshot) noexcept {
  bool copied = true;
  if constexpr (requires { Sink::misuses(); }) {
    snapshot.checks = Sink::check_settings();
    snapshot.misuses_left_out = Sink::misuses().left_out();
    snapshot.guards = Sink::guard_page_stats();
    Sink::misuses().for_each([&](const CountedMisuse& misuse) {
      copied = copied && snapshot.misuses.push_back(misuse);
    });
  }
  return copied;
}

/// Implements the snapshots of `Tracker`. Control plane; the caller holds the control lock.
template <class Config>
class TrackerSnapshot {
  using Sink = RecorderOf<Config>;

 public:
  /// Stores whether the session that has begun saw the first allocation of the process.
  static void note_start() noexcept { saw_process_start_ = Sink::in_first_call(); }

  /// Takes a snapshot without a leak scan. Stops the world while it copies.
  static Result<Snapshot> take(SnapshotOptions options = {}) {
    Sink::modules().update_locked();
    SnapshotBuilder builder(Sink::data(), options, observed_parts<typename Config::Observers>());
    const bool quiet = ThreadStates::stop_world();
    if (quiet) Sink::queue().flush();
    builder.read();
    PoolsSummary pools;
    const bool has_pools = add_pools(pools);
    ThreadStates::resume_world();
    Result<Snapshot> finished = builder.finish();
    if (!finished.ok()) return finished.status();
    Snapshot snapshot = *std::move(finished);
    snapshot.pools = std::move(pools);
    if (!has_pools) return Status::resource_exhausted("snapshot: no memory for pools");
    if (!copy_misuses<Sink>(snapshot) || !add_timeline(Sink::timeline(), snapshot)) {
      return Status::resource_exhausted("snapshot: the system has no memory for its timeline");
    }
    snapshot.account.consistent = quiet;
    snapshot.account.pauses = Sink::mode().pauses();
    if (snapshot.account.pauses > 0 || !snapshot.sampling.exact ||
        active_capabilities<typename Config::Hook>().misses_allocations) {
      leave_out_unmatched(snapshot.account);
    }
    return snapshot;
  }

  /// Freezes a copy of the process, then takes a snapshot while the copy is scanned for leaks.
  /// `mine`: registers at the call of the tracker; memory below that stack pointer is no root.
  static Result<Snapshot> take_scanned(SnapshotOptions options, const arch::RegisterValues& mine,
                                       bool running) {
    ReachabilityScan scan(scanned_tracker());
    Status status = scan.begin(mine, running && knows_all_blocks());
    if (!status.ok()) return status;
    Result<Snapshot> snapshot = take(options);
    if (!snapshot.ok()) return snapshot;
    status = scan.finish(*snapshot);
    if (!status.ok()) return status;
    return snapshot;
  }

 private:
  /// Returns true if all blocks and mappings of the process are known. Blocks from before the
  /// session count as known if the hook listed them when it started.
  static bool knows_all_blocks() noexcept {
    const HookCapabilities capabilities = active_capabilities<typename Config::Hook>();
    const bool since_first =
        saw_process_start_ || earlier_blocks<typename Config::Hook>().has_value();
    return since_first && Sink::mode().pauses() == 0 && !capabilities.misses_allocations &&
           capabilities.sees_mappings && Sink::records_mappings();
  }

  /// Copies the pools' totals while the world is stopped. Returns false if out of memory.
  static bool add_pools([[maybe_unused]] PoolsSummary& pools) noexcept {
    if constexpr (Config::Pools::kHears) return Config::Pools::template For<Sink>::add_to(pools);
    return true;
  }

  static ScannedTracker scanned_tracker() noexcept {
    ScannedTracker tracker{.data = Sink::data(), .own_module = {}, .earlier_blocks = {}};
    if constexpr (features_of<ConfigFeatures, Config>().own_module)
      tracker.own_module = Config::own_module();
    tracker.earlier_blocks =
        earlier_blocks<typename Config::Hook>().value_or(std::span<const AddressRange>());
    if constexpr (features_of<ConfigFeatures, Config>().for_each_kept_pointer) {
      tracker.for_each_kept_pointer = &Config::for_each_kept_pointer;
    }
    return tracker;
  }

  static void leave_out_unmatched(DataQuality& account) noexcept {
    account.events -= account.unmatched_frees.value_or(0);
    account.unmatched_frees.reset();
  }

  /// True if the current or latest session saw the first allocation of the process.
  static inline constinit bool saw_process_start_ = false;
};

}  // namespace alloctap
