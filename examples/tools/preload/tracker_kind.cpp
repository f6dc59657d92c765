#include "tracker_kind.hpp"

#include <array>

#include "alloctap/status.hpp"
#include "tracker_calls.hpp"

namespace alloctap::run {
namespace {

constinit const TrackerKind* running = nullptr;

}  // namespace

const TrackerKind* kind_for(const Settings& settings) noexcept {
  if (settings.tags) return &kind_of_tags;
  if (settings.event_bytes > 0) return &kind_of_events;
  return settings.chooses_blocks() ? &kind_of_chosen : &kind_of_counts;
}

void choose_tracker_kind(const TrackerKind& kind) noexcept { running = &kind; }

const TrackerKind& tracker_kind() noexcept {
  if (running != nullptr) return *running;
  const std::array kinds{&kind_of_counts, &kind_of_chosen, &kind_of_events,
                         &kind_of_tags,   &kind_of_checks, &kind_of_string_checks};
  for (const TrackerKind* const kind : kinds) {
    if (kind != nullptr) return *kind;
  }
  __builtin_unreachable();
}

Result<Snapshot> take_snapshot(const SnapshotOptions& options) {
  return tracker_kind().take_snapshot(options);
}

Status dump(const Snapshot& snapshot, const ChosenDump& policy, OutputRef output) {
  return tracker_kind().dump(snapshot, policy, output);
}

std::uint64_t live_bytes() noexcept { return tracker_kind().live_bytes(); }

void add_timeline_point() noexcept { tracker_kind().add_timeline_point(); }

bool has_leaks(const Snapshot& snapshot, const Suppressions& suppressions) {
  return tracker_kind().has_leaks(snapshot, suppressions);
}

bool has_misuses(const Snapshot& snapshot, const Suppressions& suppressions) {
  return tracker_kind().has_misuses(snapshot, suppressions);
}

void verify_blocks() noexcept { tracker_kind().verify_blocks(); }

bool found_misuse() noexcept { return tracker_kind().found_misuse(); }

bool has_guard_pages() noexcept { return tracker_kind().has_guard_pages(); }

}  // namespace alloctap::run
