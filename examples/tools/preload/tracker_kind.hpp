/// The trackers of a preloaded object, as what is compiled once for all of them sees them.
#pragma once

#include <alloctap/annotate.h>

#include <alloctap/dump/impl/outputs.hpp>
#include <alloctap/snapshot/snapshot.hpp>
#include <alloctap/snapshot/suppressions.hpp>
#include <cstdint>

#include "alloctap/status.hpp"
#include "chosen_dump.hpp"
#include "if_linked.hpp"
#include "settings.hpp"

namespace alloctap::run {

/// One tracker, as a table of functions. Constant. Those without a comment are the functions of
/// `tracker_calls.hpp` with the same names.
struct TrackerKind {
  /// Calls `on_first_call` of the tracker's sink, which ends in `begin_run` of this kind.
  void (*on_first_call)() noexcept;
  /// Starts the tracker as `settings` say. Returns false, and prints why, if it cannot start.
  bool (*start)(const Settings& settings) noexcept;
  /// Installs a hook that redirects calls; null in objects that export malloc.
  Status (*install_redirecting_hook)(HookChoice choice);
  /// Returns the functions of annotate.h that this tracker offers.
  alloctap_slots (*annotations)() noexcept;
  /// The functions of the tracker's sink with these names.
  void (*on_modules_unloading)() noexcept;
  void (*on_modules_unloaded)() noexcept;
  Result<Snapshot> (*take_snapshot)(const SnapshotOptions& options);
  Status (*dump)(const Snapshot& snapshot, const ChosenDump& policy, OutputRef output);
  std::uint64_t (*live_bytes)() noexcept;
  void (*add_timeline_point)() noexcept;
  bool (*has_leaks)(const Snapshot& snapshot, const Suppressions& suppressions);
  bool (*has_misuses)(const Snapshot& snapshot, const Suppressions& suppressions);
  void (*verify_blocks)() noexcept;
  bool (*found_misuse)() noexcept;
  bool (*has_guard_pages)() noexcept;
};

/// The kinds. Each has a null address in objects that are linked without it.
ALLOCTAP_IF_LINKED extern const TrackerKind kind_of_counts;
ALLOCTAP_IF_LINKED extern const TrackerKind kind_of_chosen;
ALLOCTAP_IF_LINKED extern const TrackerKind kind_of_events;
ALLOCTAP_IF_LINKED extern const TrackerKind kind_of_tags;
ALLOCTAP_IF_LINKED extern const TrackerKind kind_of_checks;
ALLOCTAP_IF_LINKED extern const TrackerKind kind_of_string_checks;

/// Returns the kind that `settings` need, of those that check nothing; nullptr if this object lacks
/// it.
[[nodiscard]] const TrackerKind* kind_for(const Settings& settings) noexcept;

/// Returns the kind that this process runs; before one is chosen, any of this object.
[[nodiscard]] const TrackerKind& tracker_kind() noexcept;

/// Makes `kind` the one that `tracker_kind` returns. Called once, before there are threads.
void choose_tracker_kind(const TrackerKind& kind) noexcept;

/// Starts `kind` with the settings, and what waits for the end of the process. Called once, inside
/// the first call of malloc, before the program runs.
void begin_run(const TrackerKind& kind) noexcept;

/// Returns the settings of this process; nullptr if it is not tracked. Called inside the first call
/// of malloc.
[[nodiscard]] const Settings* read_settings() noexcept;

/// Looks up the functions that this object interposes, if no call did so before.
void find_originals() noexcept;

}  // namespace alloctap::run
