/// Detection of slow leaks in long runs (soak tests).
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
  /// Number of initial marks to ignore, because memory also grows while a program loads.
  std::uint64_t warm_up_marks = 0;
  /// Minimum number of marks of a stack before it is reported. A stack that grows steadily for so
  /// many marks looks like a leak; it is reported until the growth stops.
  std::uint64_t fewest_marks = 50;
  /// Minimum confidence to report, from 0 to 1.
  double confidence = 0.99;
  /// Maximum number of watched stacks. Only stacks that have grown are watched. A watched stack
  /// takes half a KiB, in addition to 8 bytes for each stack in the snapshots.
  std::size_t most_stacks = 4096;
};

/// A stack whose live bytes keep growing.
struct SoakSuspect {
  StackId stack = kNoStackId;
  /// 1 minus an upper bound of the probability that, without a leak, any stack grows like this one.
  double confidence = 0;
  double bytes_per_mark = 0;
  /// Live bytes of the stack at the mark before it was first watched, and at the latest mark.
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
/// level or a round. If `Tags` record an owner, blocks of different owners count as different
/// stacks, so a leak spread over many threads or levels is found later.
///
/// Its tables are allocated in the arena and are not recorded. Thread-safe; control plane. `add`
/// takes time linear in the stacks of the snapshot.
class SoakDetector {
 public:
  explicit SoakDetector(const SoakOptions& options = {}) noexcept : options_(options) {}

  /// Adds a mark. Snapshots must be of one tracker and added in order of time. Fails without effect
  /// if `snapshot` is older than the last one, which can happen if several threads add marks.
  Status add(const Snapshot& snapshot);

  /// Returns the suspected leaks, sorted by confidence, then by growth rate, highest first.
  [[nodiscard]] Result<ArenaArray<SoakSuspect>> suspects() const;

  /// Returns the number of accepted marks, including the warm-up.
  [[nodiscard]] std::uint64_t marks() const {
    const std::lock_guard hold(lock_);
    return marks_;
  }

  /// Returns the number of stacks not watched at the last mark because the limit was reached.
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

  /// Updates the watched stacks; merges two lists that are sorted by StackId.
  bool add_stacks(const Snapshot& snapshot);

  /// Returns true if the stack has more live bytes than at the previous mark.
  [[nodiscard]] bool has_grown(const StackSummary& stack) const noexcept {
    return stack.live_bytes > held_by(stack.stack);
  }

  [[nodiscard]] std::uint64_t held_by(StackId stack) const noexcept {
    return stack < held_.size() ? held_[stack] : 0;
  }

  /// Starts to watch a stack; at the limit, a later mark may. Returns false if out of memory.
  bool watch(const StackSummary& stack) noexcept;

  /// Stops watching stacks that have not grown since watching began. They may be watched again.
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
  /// Lowest stack id to watch: earlier marks already watched the growing stacks with lower ids.
  StackId admit_from_ = kNoStackId;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/soak_detector.hpp"
#endif
