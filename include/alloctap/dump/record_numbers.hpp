/// The scalar members of a snapshot, and their keys in a recording.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/snapshot_fields.hpp"

namespace alloctap {

/// Clamps a recorded time, in nanoseconds since 1970, to 2^61 ns (73 years), so that differences do
/// not overflow.
[[nodiscard]] constexpr std::int64_t sane_time(std::int64_t time_ns) noexcept {
  constexpr std::int64_t kMaxCount = std::int64_t{1} << 61;
  return std::clamp(time_ns, -kMaxCount, kMaxCount);
}

/// The key of a number, "group.name"; "name" alone if the number has no group.
struct RecordKey {
  std::string_view group;
  std::string_view name;

  /// Returns the key as text in `buffer`.
  [[nodiscard]] std::string_view text(std::span<char, 64> buffer) const noexcept {
    std::size_t size = group.copy(buffer.data(), 31);
    if (size > 0) buffer[size++] = '.';
    return {buffer.data(), size + name.copy(buffer.data() + size, 32)};
  }

  [[nodiscard]] bool operator==(std::string_view key) const noexcept {
    if (group.empty()) return key == name;
    return key.size() == group.size() + 1 + name.size() && key.starts_with(group) &&
           key[group.size()] == '.' && key.ends_with(name);
  }
};

/// Calls `visit(RecordKey, number)` with a reference to each number, for writing and for reading. A
/// std::optional number without a value has no row. `SnapshotType` is `Snapshot`, const or not.
template <class SnapshotType, class Visit>
void visit_numbers(SnapshotType& snapshot, Visit&& visit) {
  visit(RecordKey{"", "time_ns"}, snapshot.time_ns);
  const auto visit_group = [&](const char* group, auto& summary) {
    visit_fields(summary, [&](const char* name, auto& field, auto...) {
      visit(RecordKey{group, name}, field);
    });
  };
  visit_group("account", snapshot.account);
  visit_group("totals", snapshot.totals);
  visit_group("mappings", snapshot.mapping_totals);
  visit_group("sampling", snapshot.sampling);
  visit_group("scan", snapshot.scan);
  visit_group("checks", snapshot.checks);
  visit_group("guard_pages", snapshot.guards);
  visit(RecordKey{"markers", "forgotten"}, snapshot.forgotten_markers);
  visit(RecordKey{"scan", "done"}, snapshot.scan.done);
  visit(RecordKey{"freed", "knowledge"}, snapshot.freed.knowledge);
  visit(RecordKey{"misuses", "left_out"}, snapshot.misuses_left_out);
  visit(RecordKey{"peak", "time_ns"}, snapshot.peak.time_ns);
  visit(RecordKey{"peak", "live_bytes"}, snapshot.peak.live_bytes);
}

}  // namespace alloctap
