/// Definitions for game/level_bracket.hpp.
#pragma once

#include <algorithm>
#include <cstddef>

#include "alloctap/game/level_bracket.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/join_equal.hpp"

namespace alloctap {

ALLOCTAP_INLINE Result<LevelLeftovers> LevelLeftovers::find(TagId level, const TagTable* tags,
                                                            const SnapshotDiff& changes) {
  LevelLeftovers leftovers(tags);
  if (!leftovers.paths_.complete() || !leftovers.keep_grown(changes) ||
      !leftovers.make_rows(level, tags) || !leftovers.make_assets()) {
    return Status::resource_exhausted("LevelLeftovers: the system has no memory for it");
  }
  return leftovers;
}

ALLOCTAP_INLINE bool LevelLeftovers::keep_grown(const SnapshotDiff& changes) noexcept {
  table_ = changes.table;
  for (const StackChange& stack : changes.stacks) {
    if (has_grown(stack.change) && !stacks_.push_back(stack)) return false;
  }
  std::sort(stacks_.begin(), stacks_.end(), [this](const StackChange& a, const StackChange& b) {
    if (tag_of(a) != tag_of(b)) return tag_of(a) < tag_of(b);
    return a.change.live_bytes > b.change.live_bytes;
  });
  return true;
}

ALLOCTAP_INLINE bool LevelLeftovers::make_rows(TagId level, const TagTable* tags) noexcept {
  for (std::size_t first = 0; first < stacks_.size();) {
    LeakedTag row;
    row.tag = tag_of(stacks_[first]);
    std::size_t end = first;
    for (; end < stacks_.size() && tag_of(stacks_[end]) == row.tag; ++end) {
      row.left += {stacks_[end].change.live_allocations, stacks_[end].change.live_bytes};
    }
    row.stacks = {stacks_.data() + first, end - first};
    describe(row, level, tags);
    (row.in_level ? level_ : elsewhere_) += row.left;
    if (!rows_.push_back(row)) return false;
    first = end;
  }
  std::sort(rows_.begin(), rows_.end(), [](const LeakedTag& a, const LeakedTag& b) {
    if (a.in_level != b.in_level) return a.in_level;
    return a.left.bytes != b.left.bytes ? a.left.bytes > b.left.bytes : a.tag < b.tag;
  });
  return true;
}

ALLOCTAP_INLINE void LevelLeftovers::describe(LeakedTag& row, TagId level,
                                              const TagTable* tags) const noexcept {
  row.path = paths_.of(row.tag);
  if (tags == nullptr) return;
  TagId around = row.tag;
  while (around > level) around = tags->parent(around);
  row.in_level = level != kNoTag && around == level;
  if (row.in_level && row.tag != level) row.asset = tags->name(row.tag);
}

ALLOCTAP_INLINE bool LevelLeftovers::make_assets() noexcept {
  for (const LeakedTag& row : rows_) {
    if (row.in_level && !assets_.push_back({row.asset, row.left})) return false;
  }
  join_equal(assets_, &LeakedAsset::asset,
             [](LeakedAsset& sum, const LeakedAsset& next) { sum.left += next.left; });
  std::sort(assets_.begin(), assets_.end(), [](const LeakedAsset& a, const LeakedAsset& b) {
    return a.left.bytes != b.left.bytes ? a.left.bytes > b.left.bytes : a.asset < b.asset;
  });
  return true;
}

}  // namespace alloctap
