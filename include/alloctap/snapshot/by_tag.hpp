/// Attribution of memory to tags, and the full paths of tags.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/record/heap_summary.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_pool.hpp"
#include "alloctap/snapshot/diff.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

/// Sums over a set of stacks: all allocations since the start, and the live allocations.
struct OwnedMemory {
  AllocationTotals total;
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;

  constexpr OwnedMemory& operator+=(const OwnedMemory& other) noexcept {
    total += other.total;
    live_allocations += other.live_allocations;
    live_bytes += other.live_bytes;
    return *this;
  }
};

struct TagSummary {
  /// The tag; `kNoTag` for allocations outside all tag scopes or without a stack.
  TagId tag = kNoTag;
  /// `own` sums the allocations of the tag itself. `with_nested` adds the allocations of its nested
  /// tags.
  OwnedMemory own;
  OwnedMemory with_nested;
  /// Bytes that `NamedAllocator` reported as overhead under the tag. Excludes nested tags.
  std::uint64_t overhead_bytes = 0;
};

struct TagChange {
  TagId tag = kNoTag;
  /// The change of the tag itself, without nested tags.
  HeapChange change = {};
};

/// Returns the sums of all tags of `snapshot`, indexed by TagId. If the tracker has no tags,
/// `kNoTag` is the only entry. Allocates in the arena; fails if out of memory. Control plane.
[[nodiscard]] inline Result<ArenaArray<TagSummary>> sum_by_tag(const Snapshot& snapshot) {
  ArenaArray<TagSummary> sums;
  const std::size_t count = snapshot.tags == nullptr ? 1 : snapshot.tags->end_id();
  if (!sums.resize(count)) {
    return Status::resource_exhausted("by_tag: the system has no memory for it");
  }
  for (std::size_t i = 0; i < count; ++i) sums[i].tag = static_cast<TagId>(i);
  for (std::size_t i = 0; i < std::min(count, snapshot.overheads.size()); ++i) {
    sums[i].overhead_bytes = snapshot.overheads[i];
  }
  for (const StackSummary& stack : snapshot.stacks) {
    const TagId tag = snapshot.table->owner(stack.stack).tag;
    sums[tag < count ? tag : kNoTag].own += {stack.total, stack.live_allocations, stack.live_bytes};
  }
  // Children come first, because nested tags have higher ids than their parents.
  for (std::size_t i = count; i-- > 0;) {
    TagSummary& sum = sums[i];
    sum.with_nested += sum.own;
    const TagId parent = i == 0 ? kNoTag : snapshot.tags->parent(sum.tag);
    if (parent != kNoTag) sums[parent].with_nested += sum.with_nested;
  }
  return sums;
}

/// Returns the sums of `sum_by_tag`, sorted by live bytes of the tag itself, largest first. Omits a
/// tag if neither the tag nor its nested tags have allocations or overhead. `snapshot.tags` and
/// `TagPaths` yield the names of tags. Control plane; fails if out of memory.
[[nodiscard]] inline Result<ArenaArray<TagSummary>> by_tag(const Snapshot& snapshot) {
  Result<ArenaArray<TagSummary>> sums = sum_by_tag(snapshot);
  if (!sums.ok()) return sums;
  const auto* end = std::remove_if(sums->begin(), sums->end(), [](const TagSummary& sum) {
    return sum.with_nested.total.allocations == 0 && sum.overhead_bytes == 0;
  });
  static_cast<void>(sums->resize(static_cast<std::size_t>(end - sums->begin())));
  std::sort(sums->begin(), sums->end(), [](const TagSummary& a, const TagSummary& b) {
    return a.own.live_bytes != b.own.live_bytes ? a.own.live_bytes > b.own.live_bytes
                                                : a.tag < b.tag;
  });
  return sums;
}

/// Sums up changes by TagId and omits unchanged tags. Fails if out of memory.
[[nodiscard]] inline Result<ArenaArray<TagChange>> by_tag(const SnapshotDiff& diff) {
  ArenaArray<TagChange> sums;
  for (const StackChange& stack : diff.stacks) {
    const TagId tag = diff.table->owner(stack.stack).tag;
    if (tag >= sums.size() && !sums.resize(std::size_t{tag} + 1)) {
      return Status::resource_exhausted("by_tag: the system has no memory for it");
    }
    sums[tag].change += stack.change;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i].tag = static_cast<TagId>(i);
  const auto* end = std::remove_if(sums.begin(), sums.end(),
                                   [](const TagChange& sum) { return sum.change == HeapChange{}; });
  static_cast<void>(sums.resize(static_cast<std::size_t>(end - sums.begin())));
  return sums;
}

/// Paths ("Game/Physics") of the tags that exist at construction. Uses arena memory. Move-only.
class TagPaths {
 public:
  /// Maximum bytes of a path. Longer paths are truncated at the end.
  static constexpr std::size_t kLongest = 1000;

  /// Builds the paths. If `tags` is nullptr, there are no paths.
  explicit TagPaths(const TagTable* tags) noexcept {
    if (tags == nullptr) return;
    const TagId end = tags->end_id();
    complete_ = paths_.resize(end);
    for (TagId id = 1; complete_ && id < end; ++id) {
      paths_[id] = join(paths_[tags->parent(id)], tags->name(id));
    }
  }

  /// Returns false if memory ran out before all paths were built.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Returns the number of tags, `kNoTag` included. Valid ids are below this number.
  [[nodiscard]] std::size_t size() const noexcept { return paths_.size(); }

  /// Returns the path, which lives as long as this object. Empty for `kNoTag` and unknown tags.
  [[nodiscard]] std::string_view of(TagId tag) const noexcept {
    return tag < paths_.size() ? paths_[tag] : std::string_view();
  }

 private:
  std::string_view join(std::string_view around, std::string_view name) noexcept {
    char text[kLongest];
    std::size_t length = around.copy(text, kLongest);
    if (!around.empty() && length < kLongest) text[length++] = '/';
    length += name.copy(text + length, kLongest - length);
    const std::string_view kept = texts_.keep({text, length});
    complete_ = complete_ && kept.size() == length;
    return kept;
  }

  ArenaArray<std::string_view> paths_;
  TextPool texts_;
  bool complete_ = true;
};

}  // namespace alloctap
