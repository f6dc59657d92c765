/// Names the stacks that leak slowly in a long run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "alloctap/game/growth_series.hpp"
#include "alloctap/game/growth_test.hpp"
#include "alloctap/guard/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

struct SoakOptions {
  /// Marks at the beginning that are passed over: what is still being loaded then grows.
  std::uint64_t warm_up_marks = 0;
  /// How many marks a stack must have been seen at before anything is said of it. What grows
  /// steadily for that long cannot be told from a leak, and is named until it stops.
  std::uint64_t fewest_marks = 50;
  /// The least confidence that is named: from 0 to 1.
  double confidence = 0.99;
  /// How many stacks are watched, of those that have grown: half a KiB for each, beside 8 bytes for
  /// each stack that there is.
  std::size_t most_stacks = 4096;
};

/// A stack whose live bytes grow.
struct SoakSuspect {
  StackId stack = kNoStackId;
  /// 1 less a bound of the chance that any stack looks like this where none leaks.
  double confidence = 0;
  double bytes_per_mark = 0;
  /// What it held at the first of the marks that are known of it, and at the last.
  std::uint64_t first_bytes = 0;
  std::uint64_t last_bytes = 0;
  std::uint64_t marks = 0;
  GrowthFinding finding = {};
};

/// Looks for stacks that hold more and more over many marks, in what stays bounded however many
/// there are:
///
///     alloctap::SoakDetector soak;
///     ... every 20 frames:   soak.add(*Tracker::snapshot());
///     ... at any time:       const auto suspects = soak.suspects();
///
/// What growth is says `GrowthTest`. Its chance is multiplied by the number of stacks that moved,
/// because the more there are, the more likely one of them climbs by chance (Bonferroni). Marks
/// should be as far apart as the program does the same again, or less: a level of its, a round.
/// A stack is one of a tracker: where `Tags` tell owners, one for each of them, and so a leak that
/// is spread over many threads or levels is found later.
///
/// Memory from the arena, so that a tracker does not see it. Thread-safe; not to be used inside a
/// hook. A mark costs time in proportion to the stacks of the snapshot.
class SoakDetector {
 public:
  explicit SoakDetector(const SoakOptions& options = {}) noexcept : options_(options) {}

  /// A mark. Snapshots are of one tracker, each later than the one before: threads that take marks
  /// at the same time may come in another order, and what comes too late fails and changes nothing.
  Status add(const Snapshot& snapshot) {
    const std::lock_guard hold(lock_);
    if (table_ != nullptr && snapshot.table != table_) {
      return Status::invalid_argument(
          "SoakDetector: this snapshot is of another tracker than the marks before");
    }
    if (snapshot.totals.allocations < allocations_) {
      return Status::failed_precondition(
          "SoakDetector: this snapshot is older than the last mark; it is passed over");
    }
    table_ = snapshot.table;
    allocations_ = snapshot.totals.allocations;
    const bool looks = marks_ > 0 && marks_ >= options_.warm_up_marks;
    ++marks_;
    if (looks && !add_stacks(snapshot)) return no_memory();
    if (!note_held(snapshot)) return no_memory();
    return Status();
  }

  /// Stacks that are thought to leak, by confidence and then by pace, highest first.
  [[nodiscard]] Result<ArenaArray<SoakSuspect>> suspects() const {
    const std::lock_guard hold(lock_);
    ArenaArray<SoakSuspect> suspects;
    for (const Watched& watched : watched_) {
      const SoakSuspect suspect = judge(watched);
      if (suspect.marks < options_.fewest_marks || suspect.finding.chance >= 1) continue;
      if (suspect.confidence < options_.confidence) continue;
      if (!suspects.push_back(suspect)) return no_memory();
    }
    std::sort(suspects.begin(), suspects.end(), [](const SoakSuspect& a, const SoakSuspect& b) {
      return a.confidence != b.confidence ? a.confidence > b.confidence
                                          : a.bytes_per_mark > b.bytes_per_mark;
    });
    return suspects;
  }

  /// Marks that were accepted, those of the warm-up too.
  [[nodiscard]] std::uint64_t marks() const {
    const std::lock_guard hold(lock_);
    return marks_;
  }

  /// How many stacks there was no room for at the last mark.
  [[nodiscard]] std::size_t left_out() const {
    const std::lock_guard hold(lock_);
    return left_out_;
  }

 private:
  struct Watched {
    StackId stack = kNoStackId;
    std::uint64_t first_bytes = 0;
    GrowthSeries series;
  };

  static Status no_memory() {
    return Status::resource_exhausted("SoakDetector: the system has no memory for it");
  }

  /// Both lists are by StackId.
  bool add_stacks(const Snapshot& snapshot) {
    if (left_out_ > 0) forget_idle_stacks();
    left_out_ = 0;
    first_left_out_ = kNoStackId;
    const std::size_t known = watched_.size();
    std::size_t at = 0;
    for (const StackSummary& stack : snapshot.stacks) {
      while (at < known && watched_[at].stack < stack.stack) ++at;
      if (at < known && watched_[at].stack == stack.stack) {
        watched_[at].series.add(stack.live_bytes);
      } else if (has_grown(stack) && !watch(stack)) {
        return false;
      }
    }
    admit_from_ = first_left_out_;
    std::sort(watched_.begin(), watched_.end(),
              [](const Watched& a, const Watched& b) { return a.stack < b.stack; });
    return true;
  }

  /// Since the mark before.
  [[nodiscard]] bool has_grown(const StackSummary& stack) const noexcept {
    return stack.live_bytes > held_by(stack.stack);
  }

  [[nodiscard]] std::uint64_t held_by(StackId stack) const noexcept {
    return stack < held_.size() ? held_[stack] : 0;
  }

  /// False where the system has no memory. Where there is no room for all, each gets its turn.
  bool watch(const StackSummary& stack) noexcept {
    if (watched_.size() >= options_.most_stacks || stack.stack < admit_from_) {
      ++left_out_;
      if (first_left_out_ == kNoStackId && stack.stack >= admit_from_) {
        first_left_out_ = stack.stack;
      }
      return true;
    }
    Watched watched;
    watched.stack = stack.stack;
    watched.first_bytes = held_by(stack.stack);
    watched.series.add(watched.first_bytes);
    watched.series.add(stack.live_bytes);
    return watched_.push_back(watched);
  }

  /// Makes room for others. What holds no more than at first begins anew when it grows again.
  void forget_idle_stacks() noexcept {
    Watched* end = std::remove_if(watched_.begin(), watched_.end(), [](const Watched& watched) {
      return watched.series.last() <= watched.first_bytes;
    });
    static_cast<void>(watched_.resize(static_cast<std::size_t>(end - watched_.begin())));
  }

  /// What each stack holds at this mark, for the next one.
  bool note_held(const Snapshot& snapshot) noexcept {
    if (snapshot.stacks.empty()) return true;
    const std::size_t last = snapshot.stacks[snapshot.stacks.size() - 1].stack;
    if (last >= held_.size() && !held_.resize(last + 1)) return false;
    for (const StackSummary& stack : snapshot.stacks) held_[stack.stack] = stack.live_bytes;
    return true;
  }

  [[nodiscard]] SoakSuspect judge(const Watched& watched) const noexcept {
    const GrowthFinding finding = GrowthTest::run(watched.series);
    return {.stack = watched.stack,
            .confidence = 1 - std::min(1.0, finding.chance * static_cast<double>(watched_.size())),
            .bytes_per_mark = finding.bytes_per_mark,
            .first_bytes = watched.first_bytes,
            .last_bytes = watched.series.last(),
            .marks = watched.series.marks(),
            .finding = finding};
  }

  const SoakOptions options_;
  mutable std::mutex lock_;
  /// By StackId.
  ArenaArray<Watched> watched_;
  /// By StackId: live bytes at the last mark.
  ArenaArray<std::uint64_t> held_;
  const StackTable* table_ = nullptr;
  std::uint64_t allocations_ = 0;
  std::uint64_t marks_ = 0;
  std::size_t left_out_ = 0;
  StackId first_left_out_ = kNoStackId;
  /// Stacks below had their turn.
  StackId admit_from_ = kNoStackId;
};

}  // namespace alloctap
