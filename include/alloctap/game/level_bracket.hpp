/// Leak detection for a level of a game: memory that remains allocated, by tag and asset.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/by_tag.hpp"
#include "alloctap/snapshot/diff.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/tag_scope.hpp"
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
  /// Full path, such as "Game/level 2/Loading/textures/hero.png"; empty for untagged memory.
  std::string_view path;
  /// Last name of the path, such as "textures/hero.png". Empty for the level's own tag and for tags
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

/// Stacks with more live memory after a level than before, and their sums. Omits all other stacks.
/// Strings and lists are in the arena and stay valid if the object is moved. Move-only.
class LevelLeftovers {
 public:
  /// Finds the stacks that grew in `changes`. `level` is the level's tag. If `tags` is nullptr, all
  /// growth counts as outside of the level. Control plane; fails if out of memory.
  [[nodiscard]] static Result<LevelLeftovers> find(TagId level, const TagTable* tags,
                                                   const SnapshotDiff& changes);

  /// Returns the tags in the level, largest first, then all other tags, largest first.
  [[nodiscard]] std::span<const LeakedTag> tags() const noexcept {
    return {rows_.data(), rows_.size()};
  }

  /// Returns the assets in the level, largest first. The asset with an empty name is memory of the
  /// level's own tag.
  [[nodiscard]] std::span<const LeakedAsset> assets() const noexcept {
    return {assets_.data(), assets_.size()};
  }

  /// `level` returns the sum over tags in the level, `elsewhere` the sum over all other tags.
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

/// Finds the leaks of a level, or of any phase that should leave nothing allocated:
///
///     alloctap::LevelBracket<Tracker> level{"level 2"};
///     load();                 // for each asset: alloctap::tag_scope asset{"textures/hero.png"};
///     play();
///     unload();
///     const auto left = level.finish();    // Result<LevelLeftovers>
///
/// Until `finish`, the thread's current tag is `name`. Its allocations are attributed to the level
/// if the tracker's `Tags` support tags. Jobs on other threads must enter that tag (`tag_scope`).
/// Growth outside of the level's tag is reported separately. Construct and finish the object on one
/// thread; objects nest like scopes. The constructor and `finish` each take a snapshot. Control
/// plane.
template <class Tracker>
class LevelBracket {
 public:
  explicit LevelBracket(std::string_view name)
      : around_(TagAnnotations::current()),
        before_(begin()),
        level_(TagAnnotations::nested(name.data(), name.size())),
        scope_(std::in_place, level_) {
    if (before_.ok() && level_ == around_) {
      before_ = Status::invalid_argument(
          "LevelBracket: no tag for this level: its name is empty, or there are too many tags");
    }
  }
  LevelBracket(const LevelBracket&) = delete;
  LevelBracket& operator=(const LevelBracket&) = delete;
  ~LevelBracket() = default;

  /// Returns the growth of live memory since construction, and ends the level's tag. Call it after
  /// unloading. Fails without a session and on a second call. Also fails on another thread, or if a
  /// tag scope that began in the level is still open; after these two errors it may be called
  /// again.
  [[nodiscard]] Result<LevelLeftovers> finish() {
    if (Status status = check_place(); !status.ok()) return status;
    scope_.reset();
    if (!before_.ok()) return before_.status();
    if (!Tracker::running()) return no_session();
    const Result<Snapshot> after = Tracker::snapshot();
    if (!after.ok()) return after.status();
    Result<SnapshotDiff> changes = diff(*before_, *after);
    before_ = Snapshot();
    if (!changes.ok()) return changes.status();
    return LevelLeftovers::find(static_cast<TagId>(level_), after->tags, *changes);
  }

 private:
  static Status no_session() {
    return Status::failed_precondition(
        "LevelBracket: the tracker has no session, so nothing is known of this level");
  }

  static Result<Snapshot> begin() {
    if (!Tracker::running()) return no_session();
    return Tracker::snapshot();
  }

  Status check_place() const {
    if (!scope_) return Status::failed_precondition("LevelBracket: finish() was called before");
    if (os::current_thread_id() != thread_) {
      return Status::failed_precondition(
          "LevelBracket: finish() on another thread than the one that the level began on");
    }
    const alloctap_tag current = TagAnnotations::current();
    if (current == level_) return Status();
    return Status::failed_precondition("LevelBracket: finish() inside of the tag \"",
                                       std::string(process_tags.name(static_cast<TagId>(current))),
                                       "\", which began in the level and has not ended");
  }

  const os::ThreadId thread_ = os::current_thread_id();
  const alloctap_tag around_;
  Result<Snapshot> before_;
  const alloctap_tag level_;
  std::optional<EnteredTag> scope_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/level_bracket.hpp"
#endif
