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

/// One tracker. Constant; all functions but those of modules as `Tracker` and `tracker_calls.hpp`
/// have them.
struct TrackerKind {
  /// As its sink's: ends in `begin_run` of this kind.
  void (*on_first_call)() noexcept;
  /// Starts it, with what is chosen before a start. Says on standard error why it cannot.
  bool (*start)(const Settings& settings) noexcept;
  /// Puts a hook that redirects calls in force; null in objects that export malloc.
  Status (*install_redirecting_hook)(HookChoice choice);
  /// The functions of annotate.h that it alone has an ear for.
  alloctap_slots (*annotations)() noexcept;
  /// As its sink's.
  void (*on_modules_unloading)() noexcept;
  void (*on_modules_unloaded)() noexcept;
  Result<Snapshot> (*take_snapshot)(const SnapshotOptions& options);
  Status (*dump_to_file)(const Snapshot& snapshot, const ChosenDump& policy, FileOutput output);
  Status (*dump_to_descriptor)(const Snapshot& snapshot, const ChosenDump& policy,
                               DescriptorOutput output);
  std::uint64_t (*live_bytes)() noexcept;
  void (*add_timeline_point)() noexcept;
  bool (*has_leaks)(const Snapshot& snapshot, const Suppressions& suppressions);
  bool (*has_misuses)(const Snapshot& snapshot, const Suppressions& suppressions);
  void (*verify_blocks)() noexcept;
  bool (*found_misuse)() noexcept;
  bool (*has_guard_pages)() noexcept;
};

/// The kinds: each is in the objects that are linked with it, and null in others. What they do
/// differently costs every call some instructions.
ALLOCTAP_IF_LINKED extern const TrackerKind kind_of_counts;
ALLOCTAP_IF_LINKED extern const TrackerKind kind_of_chosen;
ALLOCTAP_IF_LINKED extern const TrackerKind kind_of_events;
ALLOCTAP_IF_LINKED extern const TrackerKind kind_of_tags;
ALLOCTAP_IF_LINKED extern const TrackerKind kind_of_checks;
ALLOCTAP_IF_LINKED extern const TrackerKind kind_of_string_checks;

/// The one of this object that settings are for; null where it has none of that kind.
[[nodiscard]] const TrackerKind* kind_for(const Settings& settings) noexcept;

/// The one that this process runs; before one is chosen, any of this object.
[[nodiscard]] const TrackerKind& tracker_kind() noexcept;

/// `kind` is that from now on. Called once, before there are threads.
void choose_tracker_kind(const TrackerKind& kind) noexcept;

/// Reads the settings and starts `kind` where they say so. Called once, before anything of the
/// program runs, by the first call of malloc.
void begin_run(const TrackerKind& kind) noexcept;

/// The settings of this process; null where it is not to be tracked. Called at the first call of
/// malloc.
[[nodiscard]] const Settings* read_settings() noexcept;

/// Looks up the functions that this object stands in front of, which is its first call if none came
/// before.
void find_originals() noexcept;

}  // namespace alloctap::run
