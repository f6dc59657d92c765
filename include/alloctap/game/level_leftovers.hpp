/// Memory growth between two snapshots, by tag and asset.
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

/// Number and bytes of leaked blocks.
struct LeftMemory {
  std::int64_t blocks = 0;
  std::int64_t bytes = 0;

  constexpr LeftMemory& operator+=(const LeftMemory& other) noexcept {
    blocks += other.blocks;
    bytes += other.bytes;
    return *this;
  }
};

/// The leaks of one tag.
struct LeakedTag {
  TagId tag = kNoTag;
  /// True for the level's tag and for tags nested in the level's.
  bool in_level = false;
  /// Full path, "Game/level 2/Loading/textures/hero.png"; empty for untagged memory.
  std::string_view path;
  /// Name of the innermost tag, "textures/hero.png". Empty for the level's own tag and for tags
  /// outside of the level.
  std::string_view asset;
  LeftMemory left;
  /// Stacks that leaked, largest first.
  std::span<const StackChange> stacks;
};

/// The leaks of one asset, summed over all tags in the level.
struct LeakedAsset {
  std::string_view asset;
  LeftMemory left;
};

/// Stacks that hold more memory after a level than before, and their sums. Omits stacks that hold
/// less. Strings and lists are in the arena and stay valid if the object is moved. Move-only.
class LevelLeftovers {
 public:
  /// Extracts the growth from `changes`. If `tags` is nullptr, all growth is in one row. Control
  /// plane; fails if out of memory.
  [[nodiscard]] static Result<LevelLeftovers> find(TagId level, const TagTable* tags,
                                                   const SnapshotDiff& changes);

  /// Returns rows of the level's tags, then of all other tags; both groups sorted, largest first.
  [[nodiscard]] std::span<const LeakedTag> tags() const noexcept {
    return {rows_.data(), rows_.size()};
  }

  /// Returns the assets, largest first. Memory of the level outside of assets has an empty name.
  [[nodiscard]] std::span<const LeakedAsset> assets() const noexcept {
    return {assets_.data(), assets_.size()};
  }

  /// Return the sum of leaks inside the level, and of all other growth since its beginning.
  [[nodiscard]] const LeftMemory& level() const noexcept { return level_; }
  [[nodiscard]] const LeftMemory& elsewhere() const noexcept { return elsewhere_; }

  /// Returns the tracker's stack table, which has the frames.
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
