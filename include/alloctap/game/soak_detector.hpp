/// Detection of slow leaks in long runs (soak tests), by series of live bytes and a growth test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// A time series of one stack's live bytes. Each snapshot is a mark. A window is one or more
/// successive marks, and only its minimum (floor) is stored. Temporary allocations within a window
/// do not raise its floor; permanent ones do. When `kMaxWindows` windows are full, adjacent pairs
/// merge, so the series always covers the whole run. Takes half a KiB; trivially copyable.
class GrowthSeries {
 public:
  static constexpr std::size_t kMaxWindows = 64;

  void add(std::uint64_t live_bytes) noexcept;

  [[nodiscard]] std::uint64_t marks() const noexcept { return marks_; }

  /// Returns the live bytes at the latest mark.
  [[nodiscard]] std::uint64_t last() const noexcept { return last_; }

  /// Returns the minimum of each complete window in bytes, oldest first.
  [[nodiscard]] std::span<const std::uint64_t> floors() const noexcept {
    return {floors_.data(), windows_};
  }

  /// Returns the minimum in the current, incomplete window.
  [[nodiscard]] std::uint64_t open_floor() const noexcept { return open_floor_; }

  [[nodiscard]] std::uint64_t marks_of_window() const noexcept { return marks_of_window_; }

 private:
  static constexpr std::uint64_t kNothingYet = std::numeric_limits<std::uint64_t>::max();

  void join_pairs() noexcept;

  std::array<std::uint64_t, kMaxWindows> floors_{};
  std::size_t windows_ = 0;
  std::uint64_t marks_of_window_ = 1;
  std::uint64_t open_marks_ = 0;
  std::uint64_t open_floor_ = kNothingYet;
  std::uint64_t marks_ = 0;
  std::uint64_t last_ = 0;
};

/// The result of a test on one series.
struct GrowthFinding {
  /// Number of windows whose floor and all later floors exceed all earlier floors.
  std::uint32_t steps = 0;
  /// Number of windows whose floor is below the previous window's.
  std::uint32_t falls = 0;
  /// Upper bound of the p-value, the probability of so many steps in memory that does not grow. 1
  /// if there are too few windows, or if the growth has ended or is slowing.
  double chance = 1;
  /// Average growth per mark, without growth that was undone later.
  double bytes_per_mark = 0;
};

/// Distinguishes growth from fluctuation by a sign test (Dixon and Mood 1946) on the floors
/// (minima) of the last three quarters of all windows.
///
/// A window counts as a step only if its floor and all later floors exceed all earlier floors. So a
/// cache that is repeatedly filled and cleared has one step but many falls; noise has almost no
/// steps. A doubling vector has few steps, however large they are. A window without change is
/// neither a step nor a fall, so a leak of one block every few marks is found after enough marks.
///
/// The null hypothesis is that floors rise as often as they fall; the worst case is a random walk.
/// Under it, the number of steps among steps and falls is binomial. Adjacent floors are slightly
/// correlated, so the test assumes a step probability of `kChanceOfStep` instead of 1/2.
///
/// Memory also grows during a warm-up, but then stays level. Growth has ended if the windows since
/// the last step exceed `kMaxGaps` times the average distance of steps. Growth is slowing if the
/// median rise of the newer half is below `kLeastPace` times the median rise of the older half. A
/// leak grows steadily; a cache that fills up slows down. Medians make the test robust against a
/// few large loads.
class GrowthTest {
 public:
  static constexpr double kChanceOfStep = 0.6;
  static constexpr double kMaxGaps = 3;
  static constexpr double kLeastPace = 0.5;
  /// Minimum number of complete windows for a result.
  static constexpr std::size_t kFewestWindows = 8;

  [[nodiscard]] static GrowthFinding run(const GrowthSeries& series) noexcept;

  /// Returns the binomial probability of at least `steps` successes in `steps + falls` trials.
  [[nodiscard]] static double chance_of(std::uint32_t steps, std::uint32_t falls) noexcept;

 private:
  static constexpr std::size_t kMaxCount = GrowthSeries::kMaxWindows;

  struct Moves {
    std::uint32_t steps = 0;
    std::uint32_t falls = 0;
    /// Number of tested windows: all, and those after the last step.
    std::uint32_t windows = 0;
    std::uint32_t windows_since_step = 0;
    /// Minimum of the last complete window and of all later marks.
    std::uint64_t lasting = 0;
  };

  /// Returns the index of the first tested window; the test skips the oldest quarter.
  static std::size_t first_counted(std::size_t windows) noexcept { return windows / 4; }

  static Moves find_moves(const GrowthSeries& series) noexcept;

  static bool has_ended(const Moves& moves) noexcept {
    return moves.steps == 0 ||
           static_cast<double>(moves.windows_since_step) * moves.steps > kMaxGaps * moves.windows;
  }

  static bool dies_down(std::span<const std::uint64_t> floors) noexcept;

  static double median_rise(std::span<const std::uint64_t> floors) noexcept;
};

struct SoakOptions {
  /// Number of initial marks to ignore, because memory also grows while a program loads.
  std::uint64_t warm_up_marks = 0;
  /// Number of marks for which a stack must be watched before it is reported. Steady growth for so
  /// many marks counts as a leak until the growth stops.
  std::uint64_t fewest_marks = 50;
  /// Minimum confidence to report, from 0 to 1.
  double confidence = 0.99;
  /// Maximum number of watched stacks. Only stacks that have grown are watched. Memory: 8 bytes for
  /// each stack in the snapshots, and half a KiB for each watched stack.
  std::size_t most_stacks = 4096;
};

/// A stack whose live bytes keep growing.
struct SoakSuspect {
  StackId stack = kNoStackId;
  /// 1 minus an upper bound of the probability that, without a leak, any stack grows like this one.
  double confidence = 0;
  double bytes_per_mark = 0;
  /// Live bytes of the stack at the last mark before it was watched, and at the latest mark.
  std::uint64_t first_bytes = 0;
  std::uint64_t last_bytes = 0;
  std::uint64_t marks = 0;
  GrowthFinding finding = {};
};

/// Finds stacks whose live bytes keep growing over many marks, in bounded memory:
///
///     alloctap::SoakDetector soak;
///     ... every 20 frames:   soak.add(*Tracker::snapshot());
///     ... at any time:       const auto suspects = soak.suspects();
///
/// `GrowthTest` decides whether a stack grows. Its p-value is multiplied by the number of watched
/// stacks (Bonferroni correction). Add a mark at least once per cycle of the program, such as a
/// level or a round. If the tracker's `Tags` record owners of blocks, blocks of different owners
/// count as different stacks. Then a leak in many threads or levels is found later.
///
/// Tables are allocated in the arena and are not recorded. Thread-safe; control plane. `add` takes
/// time linear in the stacks of the snapshot.
class SoakDetector {
 public:
  explicit SoakDetector(const SoakOptions& options = {}) noexcept : options_(options) {}

  /// Adds a mark. All snapshots must be of one tracker. Fails without effect if `snapshot` is older
  /// than the last accepted one, which can happen if several threads add marks.
  Status add(const Snapshot& snapshot);

  /// Returns the suspected leaks, sorted by confidence, then by growth rate, highest first.
  [[nodiscard]] Result<ArenaArray<SoakSuspect>> suspects() const;

  /// Returns the number of accepted marks, including the warm-up.
  [[nodiscard]] std::uint64_t marks() const {
    const std::lock_guard hold(lock_);
    return marks_;
  }

  /// Returns how many growing stacks the latest mark could not watch because of `most_stacks`.
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

  /// Adds a mark to the watched stacks, and starts to watch stacks that have grown. Returns false
  /// if out of memory.
  bool add_stacks(const Snapshot& snapshot);

  /// Returns true if the stack has more live bytes than at the previous mark.
  [[nodiscard]] bool has_grown(const StackSummary& stack) const noexcept {
    return stack.live_bytes > held_by(stack.stack);
  }

  [[nodiscard]] std::uint64_t held_by(StackId stack) const noexcept {
    return stack < held_.size() ? held_[stack] : 0;
  }

  /// Starts to watch a stack if `most_stacks` and `admit_from_` permit. Returns false if out of
  /// memory.
  bool watch(const StackSummary& stack) noexcept;

  /// Stops watching the stacks that have not grown since watching began. May watch them again
  /// later.
  void forget_idle_stacks() noexcept;

  /// Stores the live bytes of each stack, for comparison at the next mark.
  bool note_held(const Snapshot& snapshot) noexcept;

  [[nodiscard]] SoakSuspect judge(const Watched& watched) const noexcept;

  const SoakOptions options_;
  mutable std::mutex lock_;
  /// Sorted by StackId.
  ArenaArray<Watched> watched_;
  /// Live bytes at the previous mark, indexed by StackId.
  ArenaArray<std::uint64_t> held_;
  const StackTable* table_ = nullptr;
  std::uint64_t allocations_ = 0;
  std::uint64_t marks_ = 0;
  std::size_t left_out_ = 0;
  StackId first_left_out_ = kNoStackId;
  /// Lowest stack id that may be added, so that at the limit each growing stack gets its turn.
  StackId admit_from_ = kNoStackId;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/soak_detector.hpp"
#endif
