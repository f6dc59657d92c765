/// Leak detection for a level of a game: finds what remains allocated after unloading.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "alloctap/game/level_leftovers.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/snapshot/diff.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

/// Finds the leaks of a level, or of any phase that should leave nothing allocated:
///
///     alloctap::LevelBracket<Tracker> level{"level 2"};
///     load();                 // for each asset: alloctap::tag_scope asset{"textures/hero.png"};
///     play();
///     unload();
///     const auto left = level.finish();    // Result<LevelLeftovers>
///
/// Until `finish`, the thread's tag is `name`, so its allocations are attributed to the level if
/// the tracker's `Tags` support tags. Jobs on other threads must enter the tag (`tag_scope`).
/// Growth outside of the level's tag is reported separately. Construct and finish it on one thread;
/// objects nest like scopes. The constructor and `finish` take a snapshot each. Control plane.
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

  /// Returns the growth of live memory since construction; call it after unloading. Ends the
  /// level's tag. Fails without a session, on a second call, on another thread, or if a tag scope
  /// that began in the level is still open. After the last two errors it may be called again.
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
