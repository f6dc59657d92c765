/// What grew between two moments, by what the program was doing.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "alloctap/event/stack_owner.hpp"
#include "alloctap/runtime/arena_array.hpp"
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
struct LeakedTag {
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
struct LeakedAsset {
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
                                                   const SnapshotDiff& changes);

  /// The level's first, then others, and of each those first that hold most.
  [[nodiscard]] std::span<const LeakedTag> tags() const noexcept {
    return {rows_.data(), rows_.size()};
  }

  /// Most first; one of no text for what is the level's and no asset's.
  [[nodiscard]] std::span<const LeakedAsset> assets() const noexcept {
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

  bool keep_grown(const SnapshotDiff& changes) noexcept;

  bool make_rows(TagId level, const TagTable* tags) noexcept;

  void describe(LeakedTag& row, TagId level, const TagTable* tags) const noexcept;

  bool make_assets() noexcept;

  TagPaths paths_;
  ArenaArray<StackChange> stacks_;
  ArenaArray<LeakedTag> rows_;
  ArenaArray<LeakedAsset> assets_;
  LeftMemory level_;
  LeftMemory elsewhere_;
  const StackTable* table_ = nullptr;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/level_leftovers.hpp"
#endif
