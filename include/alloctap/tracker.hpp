/// The tracker: a class template composed of policies.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "alloctap/dump/dumps.hpp"
#include "alloctap/dump/outputs.hpp"
#include "alloctap/event/stack_id.hpp"
#include "alloctap/session.hpp"
#include "alloctap/snapshot/snapshot_options.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

class ModuleTable;
class NamedStacks;
class Suppressions;
struct FoundLeaks;
struct Leaks;
struct Snapshot;
struct SnapshotDiff;
struct SortedMisuses;

/// Defined in config.hpp, which implement.hpp includes.
struct DefaultConfig;
template <class Config>
struct CheckedConfig;

/// Always true. If `Config` is complete, checks it at compile time; this requires implement.hpp.
template <class Config>
inline constexpr bool kCheckedIfComplete = true;
template <class Config>
  requires requires { sizeof(Config); }
inline constexpr bool kCheckedIfComplete<Config> = CheckedConfig<Config>::ok;

/// Records the allocations of the program while a `Session` lives, and writes reports of them.
///
/// All functions are static, because hooks belong to the process. A program contains a tracker's
/// tables only if it uses the tracker, and only the tables of the policies in `Config`. All
/// functions are thread-safe and control plane: never call them inside a hook. Their own
/// allocations are not recorded.
///
/// Only the file that includes implement.hpp needs a complete `Config` (config.hpp). Other files
/// need only `struct GameConfig; using Tracker = alloctap::Tracker<GameConfig>;`. If they call
/// functions of the tracker, the file with implement.hpp also contains `ALLOCTAP_IMPLEMENT(Tracker,
/// ...)`. Result types have headers of their own, such as snapshot/snapshot.hpp.
template <class Config = DefaultConfig>
class Tracker {
  static_assert(kCheckedIfComplete<Config>);

 public:
  using ConfigType = Config;
  /// Give access to the static functions of two policies, if `Config` is complete.
  struct Hook : Config::Hook {};
  struct Tags : Config::Tags {};

  /// Starts recording until the session ends. Fails if the hook cannot be installed, if this
  /// tracker has a session already, or if another tracker hooks an identical target.
  [[nodiscard]] static Result<Session> start();

  /// Returns true while a session lives.
  [[nodiscard]] static bool running() noexcept;

  /// Returns a consistent snapshot, in which each event is recorded fully or not at all. Also works
  /// after the session, because the tracker retains blocks and totals.
  [[nodiscard]] static Result<Snapshot> snapshot(SnapshotOptions options = {});

  /// Returns the memory that `work()` leaves allocated: the difference of snapshots after and
  /// before `work()`. Includes memory of other threads, which run meanwhile. `work` should begin
  /// and end while the program is idle, such as before loading and after unloading a level. Pass
  /// the result to `sort_by_growth` to sort its stacks. Passes exceptions of `work` on.
  template <class Work, class Diff = SnapshotDiff>
  [[nodiscard]] static Result<Diff> growth_over(Work&& work) {
    auto call = [&work] { std::forward<Work>(work)(); };
    return growth_over(&call, [](void* given) { (*static_cast<decltype(call)*>(given))(); });
  }

  /// Returns all modules that snapshots of this tracker refer to, including unloaded ones.
  [[nodiscard]] static Result<ModuleTable> modules();

  /// Returns the live blocks of `snapshot` that `suppressions` does not match. If the snapshot has
  /// a leak scan, returns only unreachable blocks. Without a scan, the blocks are leaks only if the
  /// program has already freed all that it will free. `snapshot` must be this tracker's and must
  /// outlive the result.
  [[nodiscard]] static Result<Leaks> leaks(const Snapshot& snapshot,
                                           const Suppressions& suppressions);

  /// Takes a snapshot and returns its leaks. With `Reachability::kScan`, leaks are only the blocks
  /// that the program cannot reach. For that, forks with all threads stopped, and scans the child
  /// while the program runs. On systems without fork, threads stay stopped during the scan.
  /// With or without a scan, allocating threads block while the snapshot is copied.
  [[nodiscard]] static Result<FoundLeaks> leaks(Reachability reachability,
                                                const Suppressions& suppressions);
  [[nodiscard]] static Result<FoundLeaks> leaks(Reachability reachability);

  /// Sorts the faults of `snapshot`, which must be this tracker's, into suppressed and reported
  /// ones.
  [[nodiscard]] static Result<SortedMisuses> misuses(const Snapshot& snapshot,
                                                     const Suppressions& suppressions);

  /// Symbolizes the frames of `stacks` (ids of this tracker), including inlined functions.
  [[nodiscard]] static Result<NamedStacks> name_stacks(std::span<const StackId> stacks);

  /// Writes a report of the current state to `output`, a `DumpOutput`. `policy`, a `DumpPolicy`,
  /// determines the format (dumps.hpp lists those of alloctap).
  template <class Policy>
  static Status dump(const Policy& policy, OutputRef output);

  /// Writes a report of `snapshot`, which must be this tracker's. Use this overload to write one
  /// state in several formats.
  template <class Policy>
  static Status dump(const Snapshot& snapshot, const Policy& policy, OutputRef output);

  /// Suspends recording and counting of allocations until `resume`. Frees of recorded blocks are
  /// still processed, so all blocks reported as live are live. A reallocation of a recorded block
  /// counts as its free. Blocks allocated during a pause stay unknown; their frees have no effect.
  /// Mappings are still recorded, because an incomplete map of the address space would be wrong.
  /// After the first pause, reports omit the number of frees of unknown blocks and state the number
  /// of pauses.
  ///
  /// Pauses nest across all threads. An allocation in progress on another thread may still be
  /// recorded. Has no effect without a session; each session starts unpaused. Costs an atomic
  /// addition; takes no lock.
  static void pause() noexcept;

  /// Undoes one call of `pause`; does nothing if recording is not paused.
  static void resume() noexcept;

  [[nodiscard]] static bool paused() noexcept;

  /// Adds a named time marker, such as "level 2 loaded". Copies the first
  /// `MarkerRing::kLongestName` bytes of the name. Snapshots have the last `MarkerRing::kCapacity`
  /// markers. Takes a lock briefly. Does nothing without a session.
  static void mark(std::string_view name) noexcept;

  /// Returns the approximate number of live bytes: concurrent events may be missing. Reads one
  /// counter for each thread that ever had an event; stops no thread.
  [[nodiscard]] static std::uint64_t live_bytes() noexcept;

  /// Checks the red zones of live blocks and the contents of quarantined blocks, as configured in
  /// `Config::Checks`. Stops other threads meanwhile. Later snapshots contain the faults found.
  /// Returns false without checking if called inside a dump, or if a thread did not leave the
  /// tracker's code in time.
  static bool verify_all()
    requires(Config::Checks::kChecks);

  /// Adds a point with the current live bytes to the timeline in snapshots. The timeline has about
  /// a thousand points, denser for recent times. Call this once per frame or from a timer. Stops
  /// other threads, for microseconds, only if the queue delivers events late. Otherwise an event in
  /// progress may be counted in only some numbers of the point. Does nothing without a session, or
  /// while another thread starts or stops a session or dumps.
  static void add_timeline_point() noexcept;

  /// Sets the number of captured frames for future events, limited by `Config::limits`.
  static void set_max_frames(std::uint32_t frames) noexcept;

 private:
  static Result<SnapshotDiff> growth_over(void* work, void (*call)(void*));
  static Status refuse_inside_dump();
};

}  // namespace alloctap
