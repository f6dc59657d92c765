/// The tracker: one type made of policies.
#pragma once

#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include "alloctap/arch/own_registers.hpp"
#include "alloctap/checking_recorder.hpp"
#include "alloctap/config.hpp"
#include "alloctap/dump/dump_output.hpp"
#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/guard/control_lock.hpp"
#include "alloctap/guard/reentrancy_guard.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/session.hpp"
#include "alloctap/snapshot/diff.hpp"
#include "alloctap/snapshot/leaks.hpp"
#include "alloctap/snapshot/reachability.hpp"
#include "alloctap/snapshot/sorted_misuses.hpp"
#include "alloctap/snapshot/suppressions.hpp"
#include "alloctap/status.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/tracker_report.hpp"
#include "alloctap/tracker_session.hpp"
#include "alloctap/tracker_snapshot.hpp"

namespace alloctap {

/// Records what the program allocates while a `Session` lives, and writes reports of it.
///
/// Everything is static: hooks belong to the process, and so does a tracker. Its tables appear in a
/// program that uses the type, and only those of the policies that `Config` names. All functions
/// are thread-safe and none may be called inside a hook; they allocate, but what they allocate is
/// not recorded.
template <class Config = DefaultConfig>
class Tracker {
  static_assert(CheckedConfig<Config>::ok);

 public:
  using Hook = typename Config::Hook;
  using Tags = typename Config::Tags;
  /// What the hook feeds; `ALLOCTAP_DEFINE_INTERPOSED_MALLOC` asks for it by this name.
  using Sink = RecorderOf<Config>;

  /// Starts recording. The session ends it. Fails where the hook cannot be installed, where a
  /// session of this tracker lives, or where another tracker has a backend on the same target.
  [[nodiscard]] static Result<Session> start() {
    if (Status status = refuse_inside_dump(); !status.ok()) return status;
    const ReentrancyGuard guard;
    {
      const std::lock_guard hold(control_lock);
      if (Status status = Life::start_locked(); !status.ok()) return status;
    }
    Sink::Epochs::watch();
    Life::offer_annotations();
    return Session(&Life::stop);
  }

  /// Whether a session lives.
  [[nodiscard]] static bool running() noexcept { return Life::running(); }

  /// The state at one moment: no event is half in it. Blocks and totals stay after the session, so
  /// this works then too.
  [[nodiscard]] static Result<Snapshot> snapshot(SnapshotOptions options = {}) {
    if (Status status = refuse_inside_dump(); !status.ok()) return status;
    const ReentrancyGuard guard;
    const std::lock_guard hold(control_lock);
    if (options.reachability == Reachability::kNotAsked) return Taker::take(options);
    arch::RegisterValues mine{};
    arch::read_own_registers(mine);
    return Taker::take_scanned(options, mine, running());
  }

  /// What `work()` leaves behind: the difference of a snapshot after it and one before it, both of
  /// them with other threads going on. Between two idle moments, such as before a level is loaded
  /// and after it was left, whatever grew is worth a look (`sort_by_growth`). What `work` throws
  /// passes through.
  template <class Work>
  [[nodiscard]] static Result<SnapshotDiff> growth_over(Work&& work) {
    const Result<Snapshot> before = snapshot();
    if (!before.ok()) return before.status();
    std::forward<Work>(work)();
    const Result<Snapshot> after = snapshot();
    if (!after.ok()) return after.status();
    return diff(*before, *after);
  }

  /// The modules that frames of this tracker's snapshots are in, those that were unloaded too.
  [[nodiscard]] static Result<ModuleTable> modules() {
    if (Status status = refuse_inside_dump(); !status.ok()) return status;
    const ReentrancyGuard guard;
    const std::lock_guard hold(control_lock);
    Sink::Epochs::update_locked();
    return TrackerReport<Config>::modules();
  }

  /// What is live in `snapshot`, one of this tracker's that outlives the result, and is not named
  /// by `suppressions`; where unreachable blocks were looked for, those alone. Taken when the
  /// program has given back all that it wants to: leaks.
  [[nodiscard]] static Result<Leaks> leaks(const Snapshot& snapshot,
                                           const Suppressions& suppressions) {
    if (Status status = refuse_inside_dump(); !status.ok()) return status;
    const ReentrancyGuard guard;
    const std::lock_guard hold(control_lock);
    return TrackerReport<Config>::leaks(snapshot, suppressions);
  }

  /// The leaks of this moment, with the snapshot that they are of. `Reachability::kScan`: of what
  /// is live, only what the program cannot reach any more. All threads stop while the process
  /// forks; those that allocate wait, as always, while the snapshot is read. The scan itself is of
  /// the fork, and the program goes on meanwhile; where there is no fork, the threads stop for it.
  [[nodiscard]] static Result<FoundLeaks> leaks(Reachability reachability,
                                                const Suppressions& suppressions = {}) {
    Result<Snapshot> taken = snapshot({.reachability = reachability});
    if (!taken.ok()) return taken.status();
    FoundLeaks found{.snapshot = *std::move(taken), .leaks = {}};
    Result<Leaks> leaks = Tracker::leaks(found.snapshot, suppressions);
    if (!leaks.ok()) return leaks.status();
    found.leaks = *std::move(leaks);
    return found;
  }

  /// Which faults of `snapshot`, one of this tracker's, `suppressions` name, and which they do not.
  [[nodiscard]] static Result<SortedMisuses> misuses(const Snapshot& snapshot,
                                                     const Suppressions& suppressions) {
    if (Status status = refuse_inside_dump(); !status.ok()) return status;
    const ReentrancyGuard guard;
    const std::lock_guard hold(control_lock);
    return TrackerReport<Config>::misuses(snapshot, suppressions);
  }

  /// What the frames of `stacks`, ids of this tracker's, are called, inlined functions included.
  [[nodiscard]] static Result<NamedStacks> name_stacks(std::span<const StackId> stacks) {
    if (Status status = refuse_inside_dump(); !status.ok()) return status;
    const ReentrancyGuard guard;
    const std::lock_guard hold(control_lock);
    Sink::Epochs::update_locked();
    return TrackerReport<Config>::name_stacks(stacks);
  }

  /// Writes a report of the present state to `output`, a `DumpOutput`, in the form of `policy`.
  template <DumpPolicy Policy, class Output>
    requires DumpOutput<std::remove_reference_t<Output>>
  static Status dump(const Policy& policy, Output&& output) {
    if (Status status = refuse_inside_dump(); !status.ok()) return status;
    const ReentrancyGuard guard;
    const std::lock_guard hold(control_lock);
    const Result<Snapshot> snapshot = Taker::take();
    if (!snapshot.ok()) return snapshot.status();
    return TrackerReport<Config>::write(*snapshot, policy, output);
  }

  /// Writes a report of `snapshot`, one of this tracker's: for several forms of the same moment.
  template <DumpPolicy Policy, class Output>
    requires DumpOutput<std::remove_reference_t<Output>>
  static Status dump(const Snapshot& snapshot, const Policy& policy, Output&& output) {
    if (Status status = refuse_inside_dump(); !status.ok()) return status;
    const ReentrancyGuard guard;
    const std::lock_guard hold(control_lock);
    return TrackerReport<Config>::write(snapshot, policy, output);
  }

  /// Until `resume`, allocations are neither recorded nor counted. Frees of blocks that were
  /// recorded before still take them out, and a reallocation of one ends it, so what is reported as
  /// live is live. A block that came in a pause stays unknown for ever, and its free, in the pause
  /// or after it, changes nothing. Mappings go on being recorded: only a whole map of the address
  /// space stays right. From the first pause on reports do not tell frees of unknown blocks, and
  /// say how many pauses there were.
  ///
  /// Pauses nest, over all threads: recording goes on when each was resumed. An allocation that is
  /// under way on another thread may still be recorded. Without a session it does nothing, and a
  /// session starts with no pause in force. Costs an atomic addition; takes no lock.
  static void pause() noexcept {
    if (running()) Sink::detours().pause();
  }

  /// Ends one pause; does nothing where none is in force.
  static void resume() noexcept { Sink::detours().resume(); }

  /// Whether a pause is in force.
  [[nodiscard]] static bool paused() noexcept { return Sink::detours().paused(); }

  /// Notes the time under that name, cut to `MarkerRing::kLongestName`: for "level 2 loaded" and
  /// the like. The last `MarkerRing::kCapacity` are kept. Copies the name; costs a lock that is
  /// never held for long. Without a session it does nothing.
  static void mark(std::string_view name) noexcept {
    if (running()) Sink::mark(name);
  }

  /// About how many bytes are live: what other threads do meanwhile may be counted or not. Costs a
  /// read for each thread that ever had an event, and stops none.
  [[nodiscard]] static std::uint64_t live_bytes() noexcept { return Sink::books().live_bytes(); }

  /// Looks at the guards of every live block, and at every freed one that is kept back, for what
  /// `Config::Checks` watch; false where a thread was stopped inside the tracker, so that nothing
  /// was looked at. What is found stands in every snapshot from then on. Stops other threads
  /// meanwhile.
  static bool verify_all()
    requires(Config::Checks::kChecks)
  {
    const ReentrancyGuard guard;
    FoundMisuses found;
    bool quiet = false;
    {
      const std::lock_guard hold(control_lock);
      quiet = ThreadStates::close_gate();
      if (quiet) found = Sink::sweep();
      ThreadStates::open_gate();
    }
    Sink::act(found);
    return quiet;
  }

  /// Adds what is live now to the timeline of snapshots, which keeps a thousand points, the denser
  /// the younger. To be called as often as points are wanted: once in a frame, or by a timer. Other
  /// threads go on meanwhile, and what they are just allocating or freeing may be in one number of
  /// the point and not yet in another; a queue that delivers later stops them for some
  /// microseconds. Without a session, and while another thread starts, stops or dumps, it does
  /// nothing.
  static void add_timeline_point() noexcept {
    if (running()) Sink::add_timeline_point();
  }

  /// How many frames are captured from now on; cut to what `Config::limits` allows.
  static void set_max_frames(std::uint32_t frames) noexcept { Sink::set_max_frames(frames); }

 private:
  using Taker = TrackerSnapshot<Config>;
  using Life = TrackerSession<Config>;

  /// A callback of an output runs behind the control lock: it would wait for itself.
  static Status refuse_inside_dump() {
    if (!holds_tracker_lock()) return Status();
    return Status::failed_precondition(
        "this thread is inside a dump: what an output calls may not start, snapshot or dump");
  }
};

}  // namespace alloctap
