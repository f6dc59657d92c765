/// The tracker: one type made of policies.
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

/// In config.hpp, which implement.hpp includes.
struct DefaultConfig;
template <class Config>
struct CheckedConfig;

/// True; where `Config` is complete, it is checked for that, so implement.hpp must be there.
template <class Config>
inline constexpr bool kCheckedIfComplete = true;
template <class Config>
  requires requires { sizeof(Config); }
inline constexpr bool kCheckedIfComplete<Config> = CheckedConfig<Config>::ok;

/// Records what the program allocates while a `Session` lives, and writes reports of it.
///
/// Everything is static: hooks belong to the process, and so does a tracker. Its tables appear in a
/// program that uses the type, and only those of the policies that `Config` names. All functions
/// are thread-safe and none may be called inside a hook; they allocate, but what they allocate is
/// not recorded.
///
/// `Config` (config.hpp) may be incomplete, but in the one file that includes implement.hpp: a
/// header of a game needs `struct GameConfig; using Tracker = alloctap::Tracker<GameConfig>;` and
/// nothing else. Where other files call its functions, that file has `ALLOCTAP_IMPLEMENT(Tracker,
/// ...)`. Results are of types that headers of their own define, such as snapshot/snapshot.hpp.
template <class Config = DefaultConfig>
class Tracker {
  static_assert(kCheckedIfComplete<Config>);

 public:
  using ConfigType = Config;
  /// Those of `Config`, by their static functions, where it is complete.
  struct Hook : Config::Hook {};
  struct Tags : Config::Tags {};

  /// Starts recording. The session ends it. Fails where the hook cannot be installed, where a
  /// session of this tracker lives, or where another tracker has a backend on the same target.
  [[nodiscard]] static Result<Session> start();

  /// Whether a session lives.
  [[nodiscard]] static bool running() noexcept;

  /// The state at one moment: no event is half in it. Blocks and totals stay after the session, so
  /// this works then too.
  [[nodiscard]] static Result<Snapshot> snapshot(SnapshotOptions options = {});

  /// What `work()` leaves behind: the difference of a snapshot after it and one before it, both of
  /// them with other threads going on. Between two idle moments, such as before a level is loaded
  /// and after it was left, whatever grew is worth a look (`sort_by_growth`). What `work` throws
  /// passes through.
  template <class Work, class Diff = SnapshotDiff>
  [[nodiscard]] static Result<Diff> growth_over(Work&& work) {
    auto call = [&work] { std::forward<Work>(work)(); };
    return growth_over(&call, [](void* given) { (*static_cast<decltype(call)*>(given))(); });
  }

  /// The modules that frames of this tracker's snapshots are in, those that were unloaded too.
  [[nodiscard]] static Result<ModuleTable> modules();

  /// What is live in `snapshot`, one of this tracker's that outlives the result, and is not named
  /// by `suppressions`; where unreachable blocks were looked for, those alone. Taken when the
  /// program has given back all that it wants to: leaks.
  [[nodiscard]] static Result<Leaks> leaks(const Snapshot& snapshot,
                                           const Suppressions& suppressions);

  /// The leaks of this moment, with the snapshot that they are of. `Reachability::kScan`: of what
  /// is live, only what the program cannot reach any more. All threads stop while the process
  /// forks; those that allocate wait, as always, while the snapshot is read. The scan itself is of
  /// the fork, and the program goes on meanwhile; where there is no fork, the threads stop for it.
  [[nodiscard]] static Result<FoundLeaks> leaks(Reachability reachability,
                                                const Suppressions& suppressions);
  [[nodiscard]] static Result<FoundLeaks> leaks(Reachability reachability);

  /// Which faults of `snapshot`, one of this tracker's, `suppressions` name, and which they do not.
  [[nodiscard]] static Result<SortedMisuses> misuses(const Snapshot& snapshot,
                                                     const Suppressions& suppressions);

  /// What the frames of `stacks`, ids of this tracker's, are called, inlined functions included.
  [[nodiscard]] static Result<NamedStacks> name_stacks(std::span<const StackId> stacks);

  /// Writes a report of the present state to `output`, a `DumpOutput`, in the form of `policy`, a
  /// `DumpPolicy` (dumps.hpp has those of alloctap).
  template <class Policy>
  static Status dump(const Policy& policy, OutputRef output);

  /// Writes a report of `snapshot`, one of this tracker's: for several forms of the same moment.
  template <class Policy>
  static Status dump(const Snapshot& snapshot, const Policy& policy, OutputRef output);

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
  static void pause() noexcept;

  /// Ends one pause; does nothing where none is in force.
  static void resume() noexcept;

  /// Whether a pause is in force.
  [[nodiscard]] static bool paused() noexcept;

  /// Notes the time under that name, cut to `MarkerRing::kLongestName`: for "level 2 loaded" and
  /// the like. The last `MarkerRing::kCapacity` are kept. Copies the name; costs a lock that is
  /// never held for long. Without a session it does nothing.
  static void mark(std::string_view name) noexcept;

  /// About how many bytes are live: what other threads do meanwhile may be counted or not. Costs a
  /// read for each thread that ever had an event, and stops none.
  [[nodiscard]] static std::uint64_t live_bytes() noexcept;

  /// Looks at the guards of every live block, and at every freed one that is kept back, for what
  /// `Config::Checks` watch; false where a thread was stopped inside the tracker, so that nothing
  /// was looked at. What is found stands in every snapshot from then on. Stops other threads
  /// meanwhile.
  static bool verify_all()
    requires(Config::Checks::kChecks);

  /// Adds what is live now to the timeline of snapshots, which keeps a thousand points, the denser
  /// the younger. To be called as often as points are wanted: once in a frame, or by a timer. Other
  /// threads go on meanwhile, and what they are just allocating or freeing may be in one number of
  /// the point and not yet in another; a queue that delivers later stops them for some
  /// microseconds. Without a session, and while another thread starts, stops or dumps, it does
  /// nothing.
  static void add_timeline_point() noexcept;

  /// How many frames are captured from now on; cut to what `Config::limits` allows.
  static void set_max_frames(std::uint32_t frames) noexcept;

 private:
  static Result<SnapshotDiff> growth_over(void* work, void (*call)(void*));
  static Status refuse_inside_dump();
};

}  // namespace alloctap
