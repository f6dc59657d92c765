/// Function bodies of tracker.hpp.
#pragma once

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/config.hpp"
#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/record/checking_recorder.hpp"
#include "alloctap/runtime/fork_handlers.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/snapshot/diff.hpp"
#include "alloctap/snapshot/leaks.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/sorted_misuses.hpp"
#include "alloctap/snapshot/suppressions.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/tracker.hpp"
#include "alloctap/tracker_report.hpp"
#include "alloctap/tracker_session.hpp"
#include "alloctap/tracker_snapshot.hpp"

namespace alloctap {

/// Maps a tracker to its event sink, the recorder that the hook calls.
template <class Config>
struct SinkOfTracker<Tracker<Config>> {
  using Type = RecorderOf<Config>;
};

template <class Config>
Result<Session> Tracker<Config>::start() {
  if (Status status = refuse_inside_dump(); !status.ok()) return status;
  const ReentrancyGuard guard;
  {
    const ControlScope hold;
    if (Status status = TrackerSession<Config>::start_locked(); !status.ok()) return status;
  }
  RecorderOf<Config>::modules().watch();
  TrackerSession<Config>::offer_annotations();
  return Session(&TrackerSession<Config>::stop);
}

template <class Config>
bool Tracker<Config>::running() noexcept {
  return TrackerSession<Config>::running();
}

template <class Config>
Result<Snapshot> Tracker<Config>::snapshot(SnapshotOptions options) {
  if (Status status = refuse_inside_dump(); !status.ok()) return status;
  const ReentrancyGuard guard;
  const ControlScope hold;
  if (options.reachability == Reachability::kNotAsked)
    return TrackerSnapshot<Config>::take(options);
  arch::RegisterValues mine{};
  arch::read_own_registers(mine);
  return TrackerSnapshot<Config>::take_scanned(options, mine, running());
}

template <class Config>
Result<SnapshotDiff> Tracker<Config>::growth_over(void* work, void (*call)(void*)) {
  const Result<Snapshot> before = snapshot();
  if (!before.ok()) return before.status();
  call(work);
  const Result<Snapshot> after = snapshot();
  if (!after.ok()) return after.status();
  return diff(*before, *after);
}

template <class Config>
Result<ModuleTable> Tracker<Config>::modules() {
  if (Status status = refuse_inside_dump(); !status.ok()) return status;
  const ReentrancyGuard guard;
  const ControlScope hold;
  RecorderOf<Config>::modules().update_locked();
  return TrackerReport<Config>::modules();
}

template <class Config>
Result<Leaks> Tracker<Config>::leaks(const Snapshot& snapshot, const Suppressions& suppressions) {
  if (Status status = refuse_inside_dump(); !status.ok()) return status;
  const ReentrancyGuard guard;
  const ControlScope hold;
  return TrackerReport<Config>::leaks(snapshot, suppressions);
}

template <class Config>
Result<FoundLeaks> Tracker<Config>::leaks(Reachability reachability,
                                          const Suppressions& suppressions) {
  Result<Snapshot> taken = snapshot({.reachability = reachability});
  if (!taken.ok()) return taken.status();
  FoundLeaks found{.snapshot = *std::move(taken), .leaks = {}};
  Result<Leaks> leaks = Tracker::leaks(found.snapshot, suppressions);
  if (!leaks.ok()) return leaks.status();
  found.leaks = *std::move(leaks);
  return found;
}

template <class Config>
Result<FoundLeaks> Tracker<Config>::leaks(Reachability reachability) {
  return leaks(reachability, Suppressions());
}

template <class Config>
Result<SortedMisuses> Tracker<Config>::misuses(const Snapshot& snapshot,
                                               const Suppressions& suppressions) {
  if (Status status = refuse_inside_dump(); !status.ok()) return status;
  const ReentrancyGuard guard;
  const ControlScope hold;
  return TrackerReport<Config>::misuses(snapshot, suppressions);
}

template <class Config>
Result<NamedStacks> Tracker<Config>::name_stacks(std::span<const StackId> stacks) {
  if (Status status = refuse_inside_dump(); !status.ok()) return status;
  const ReentrancyGuard guard;
  const ControlScope hold;
  RecorderOf<Config>::modules().update_locked();
  return TrackerReport<Config>::name_stacks(stacks);
}

template <class Config>
template <class Policy>
Status Tracker<Config>::dump(const Policy& policy, OutputRef output) {
  static_assert(DumpPolicy<Policy>,
                "what is dumped does not model DumpPolicy: see alloctap/dump/dump_policy.hpp");
  if (Status status = refuse_inside_dump(); !status.ok()) return status;
  const ReentrancyGuard guard;
  const ControlScope hold;
  const Result<Snapshot> snapshot = TrackerSnapshot<Config>::take();
  if (!snapshot.ok()) return snapshot.status();
  return TrackerReport<Config>::write(*snapshot, policy, output);
}

template <class Config>
template <class Policy>
Status Tracker<Config>::dump(const Snapshot& snapshot, const Policy& policy, OutputRef output) {
  if (Status status = refuse_inside_dump(); !status.ok()) return status;
  const ReentrancyGuard guard;
  const ControlScope hold;
  return TrackerReport<Config>::write(snapshot, policy, output);
}

template <class Config>
void Tracker<Config>::pause() noexcept {
  if (running()) RecorderOf<Config>::mode().pause();
}

template <class Config>
void Tracker<Config>::resume() noexcept {
  RecorderOf<Config>::mode().resume();
}

template <class Config>
bool Tracker<Config>::paused() noexcept {
  return RecorderOf<Config>::mode().paused();
}

template <class Config>
void Tracker<Config>::mark(std::string_view name) noexcept {
  if (running()) RecorderOf<Config>::timeline().mark(name);
}

template <class Config>
std::uint64_t Tracker<Config>::live_bytes() noexcept {
  return RecorderOf<Config>::threads().live().live();
}

template <class Config>
bool Tracker<Config>::verify_all()
  requires(Config::Checks::kChecks)
{
  if (holds_tracker_lock()) return false;
  const ReentrancyGuard guard;
  FoundMisuses found;
  bool quiet = false;
  {
    const ControlScope hold;
    quiet = ThreadStates::stop_world();
    if (quiet) found = RecorderOf<Config>::sweep();
    ThreadStates::resume_world();
  }
  RecorderOf<Config>::act(found);
  return quiet;
}

template <class Config>
void Tracker<Config>::add_timeline_point() noexcept {
  if (running()) RecorderOf<Config>::timeline().add_point(RecorderOf<Config>::data());
}

template <class Config>
void Tracker<Config>::set_max_frames(std::uint32_t frames) noexcept {
  RecorderOf<Config>::set_max_frames(frames);
}

template <class Config>
Status Tracker<Config>::refuse_inside_dump() {
  if (!holds_tracker_lock()) return Status();
  return Status::failed_precondition(
      "this thread is inside a dump: what an output calls may not start, snapshot or dump");
}

}  // namespace alloctap
