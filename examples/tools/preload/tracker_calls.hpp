/// What reports ask of the tracker. Declared without it, so that those who ask are compiled once
/// for all libraries that track; defined with it, by `define_tracker_calls.hpp`.
#pragma once

#include <alloctap/dump/impl/outputs.hpp>
#include <alloctap/snapshot/snapshot.hpp>
#include <alloctap/snapshot/suppressions.hpp>
#include <cstdint>

#include "alloctap/status.hpp"
#include "chosen_dump.hpp"

namespace alloctap::run {

/// As the functions of `Tracker` with these names.
Result<Snapshot> take_snapshot(const SnapshotOptions& options);
Status dump(const Snapshot& snapshot, const ChosenDump& policy, OutputRef output);
std::uint64_t live_bytes() noexcept;
void add_timeline_point() noexcept;

/// Whether there are leaks that no suppression names; false where that cannot be told.
[[nodiscard]] bool has_leaks(const Snapshot& snapshot, const Suppressions& suppressions);

/// Whether there are faults that no suppression names, or that cannot be told.
[[nodiscard]] bool has_misuses(const Snapshot& snapshot, const Suppressions& suppressions);

/// As `Tracker::verify_all`, where something is checked.
void verify_blocks() noexcept;
/// Whether checks found anything yet.
[[nodiscard]] bool found_misuse() noexcept;
/// Whether there are blocks beside inaccessible pages.
[[nodiscard]] bool has_guard_pages() noexcept;

}  // namespace alloctap::run
