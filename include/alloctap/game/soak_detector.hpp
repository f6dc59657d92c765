/// Names the stacks that leak slowly in a long run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "alloctap/game/growth_series.hpp"
#include "alloctap/game/growth_test.hpp"
#include "alloctap/runtime/arena_array.hpp"
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
  Status add(const Snapshot& snapshot);

  /// Stacks that are thought to leak, by confidence and then by pace, highest first.
  [[nodiscard]] Result<ArenaArray<SoakSuspect>> suspects() const;

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
  bool add_stacks(const Snapshot& snapshot);

  /// Since the mark before.
  [[nodiscard]] bool has_grown(const StackSummary& stack) const noexcept {
    return stack.live_bytes > held_by(stack.stack);
  }

  [[nodiscard]] std::uint64_t held_by(StackId stack) const noexcept {
    return stack < held_.size() ? held_[stack] : 0;
  }

  /// False where the system has no memory. Where there is no room for all, each gets its turn.
  bool watch(const StackSummary& stack) noexcept;

  /// Makes room for others. What holds no more than at first begins anew when it grows again.
  void forget_idle_stacks() noexcept;

  /// What each stack holds at this mark, for the next one.
  bool note_held(const Snapshot& snapshot) noexcept;

  [[nodiscard]] SoakSuspect judge(const Watched& watched) const noexcept;

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

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/soak_detector.hpp"
#endif
