/// What grew between two moments, by what the program was doing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "alloctap/event/stack_owner.hpp"
#include "alloctap/guard/arena_array.hpp"
#include "alloctap/guard/join_equal.hpp"
#include "alloctap/snapshot/diff.hpp"
#include "alloctap/snapshot/tag_paths.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

/// Blocks and bytes that were left.
struct LeftMemory {
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;

  constexpr LeftMemory& operator+=(const LeftMemory& other) noexcept {
    blocks += other.blocks;
    bytes += other.bytes;
    return *this;
  }
};

/// What was left in one tag.
struct LeftTag {
  TagId tag = kNoTag;
  /// Whether it is the level's tag, or inside of it.
  bool in_level = false;
  /// "Game/level 2/Loading/textures/hero.png"; empty of no tag.
  std::string_view path;
  /// The innermost tag's own text, "textures/hero.png"; empty of the level's own tag, and of tags
  /// that are not inside of it.
  std::string_view asset;
  LeftMemory left;
  /// Most first.
  std::span<const StackChange> stacks;
};

/// What was left of one asset, in whatever tag inside of the level.
struct LeftAsset {
  std::string_view asset;
  LeftMemory left;
};

/// Stacks that hold more after than before, and their sums; what holds less is in no number. All
/// texts and lists live as long as this, or what it was moved to. Memory from the arena; move-only.
class LevelLeftovers {
 public:
  /// What grew of `changes`; `tags` may be nullptr, then all is in one row. Control plane; fails
  /// where the system has no memory for it.
  [[nodiscard]] static Result<LevelLeftovers> find(TagId level, const TagTable* tags,
                                                   const SnapshotDiff& changes) {
    LevelLeftovers leftovers(tags);
    if (!leftovers.paths_.complete() || !leftovers.keep_grown(changes) ||
        !leftovers.make_rows(level, tags) || !leftovers.make_assets()) {
      return Status::resource_exhausted("LevelLeftovers: the system has no memory for it");
    }
    return leftovers;
  }

  /// The level's first, then others, and of each those first that hold most.
  [[nodiscard]] std::span<const LeftTag> tags() const noexcept {
    return {rows_.data(), rows_.size()};
  }

  /// Most first; one of no text for what is the level's and no asset's.
  [[nodiscard]] std::span<const LeftAsset> assets() const noexcept {
    return {assets_.data(), assets_.size()};
  }

  /// Of the level, and of all else that went on meanwhile.
  [[nodiscard]] const LeftMemory& level() const noexcept { return level_; }
  [[nodiscard]] const LeftMemory& elsewhere() const noexcept { return elsewhere_; }

  /// The frames of stacks; the tracker's own.
  [[nodiscard]] const StackTable* table() const noexcept { return table_; }

 private:
  explicit LevelLeftovers(const TagTable* tags) noexcept : paths_(tags) {}

  static bool has_grown(const HeapChange& change) noexcept {
    return change.live_bytes > 0 || (change.live_bytes == 0 && change.live_allocations > 0);
  }

  [[nodiscard]] TagId tag_of(const StackChange& stack) const noexcept {
    return table_->owner(stack.stack).tag;
  }

  bool keep_grown(const SnapshotDiff& changes) noexcept {
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

  bool make_rows(TagId level, const TagTable* tags) noexcept {
    for (std::size_t first = 0; first < stacks_.size();) {
      LeftTag row;
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
    std::sort(rows_.begin(), rows_.end(), [](const LeftTag& a, const LeftTag& b) {
      if (a.in_level != b.in_level) return a.in_level;
      return a.left.bytes != b.left.bytes ? a.left.bytes > b.left.bytes : a.tag < b.tag;
    });
    return true;
  }

  void describe(LeftTag& row, TagId level, const TagTable* tags) const noexcept {
    row.path = paths_.of(row.tag);
    if (tags == nullptr) return;
    TagId around = row.tag;
    while (around > level) around = tags->parent(around);
    row.in_level = level != kNoTag && around == level;
    if (row.in_level && row.tag != level) row.asset = tags->name(row.tag);
  }

  bool make_assets() noexcept {
    for (const LeftTag& row : rows_) {
      if (row.in_level && !assets_.push_back({row.asset, row.left})) return false;
    }
    join_equal(assets_, &LeftAsset::asset,
               [](LeftAsset& sum, const LeftAsset& next) { sum.left += next.left; });
    std::sort(assets_.begin(), assets_.end(), [](const LeftAsset& a, const LeftAsset& b) {
      return a.left.bytes != b.left.bytes ? a.left.bytes > b.left.bytes : a.asset < b.asset;
    });
    return true;
  }

  TagPaths paths_;
  ArenaArray<StackChange> stacks_;
  ArenaArray<LeftTag> rows_;
  ArenaArray<LeftAsset> assets_;
  LeftMemory level_;
  LeftMemory elsewhere_;
  const StackTable* table_ = nullptr;
};

}  // namespace alloctap
