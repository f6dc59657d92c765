/// Partition of each stack's blocks by lifetime, for a synthetic heaptrack file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "alloctap/dump/lifetime_breakdown.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// A stack's blocks by lifetime, and the number of temporary blocks.
struct HeaptrackShare {
  LifetimeBreakdown held;
  /// The number of temporary blocks in `held.rest`.
  std::uint64_t temporary = 0;
  /// Whether one block in `held.peak_only` is temporary too.
  bool temporary_at_peak = false;
};

/// A `HeaptrackShare` for each stack, in the arena. A temporary block is freed directly after its
/// allocation, so only one temporary block can be live at the peak. The stack that held most bytes
/// gets that block. If a stack's numbers are inconsistent, ignores blocks live only at the peak.
class HeaptrackPlan {
 public:
  explicit HeaptrackPlan(const Snapshot& snapshot) noexcept {
    for (const StackSummary& stack : snapshot.stacks) {
      const PeakStackSummary peak = snapshot.peak.of(stack.stack);
      add(stack, {peak.live_allocations, peak.live_bytes});
    }
  }

  /// Returns false if out of memory.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Returns the share of the stack at index `stack` in `Snapshot::stacks`.
  [[nodiscard]] const HeaptrackShare& share(std::size_t stack) const noexcept {
    return shares_[stack];
  }

  /// Returns the index of the stack whose temporary block is live at the peak, or nullopt.
  [[nodiscard]] std::optional<std::size_t> temporary_at_peak() const noexcept {
    return temporary_at_peak_;
  }

 private:
  void add(const StackSummary& stack, const BlockCount& at_peak) noexcept {
    const BlockCount all{stack.total.allocations, stack.total.allocated_bytes};
    const BlockCount at_end{stack.live_allocations, stack.live_bytes};
    const std::uint64_t temporary = stack.total.temporary_allocations;
    if (const auto held = split_held(all, at_peak, at_end, temporary)) {
      return keep({.held = *held, .temporary = temporary});
    }
    keep(without_peak(all, at_peak, at_end, temporary));
    if (temporary == 0 || at_peak.bytes <= bytes_at_peak_) return;
    const auto held = split_held(all, at_peak, at_end, temporary - 1);
    if (!held || held->peak_only.blocks == 0 || !complete_) return;
    take_the_moment(all, at_end, at_peak,
                    {.held = *held, .temporary = temporary - 1, .temporary_at_peak = true});
  }

  /// Moves the temporary block that is live at the peak from its current stack to the last stack.
  void take_the_moment(const BlockCount& all, const BlockCount& at_end, const BlockCount& at_peak,
                       const HeaptrackShare& share) noexcept {
    if (temporary_at_peak_) shares_[*temporary_at_peak_] = given_up_;
    given_up_ = without_peak(all, at_peak, at_end, share.temporary + 1);
    shares_.back() = share;
    temporary_at_peak_ = shares_.size() - 1;
    bytes_at_peak_ = at_peak.bytes;
  }

  static HeaptrackShare without_peak(const BlockCount& all, const BlockCount& at_peak,
                                     const BlockCount& at_end, std::uint64_t temporary) noexcept {
    const BlockCount rest = all - at_end;
    const LifetimeBreakdown held = at_peak.bytes >= at_end.bytes
                                       ? LifetimeBreakdown{rest, {}, at_end, {}}
                                       : LifetimeBreakdown{rest, {}, {}, at_end};
    return {.held = held, .temporary = temporary};
  }

  void keep(const HeaptrackShare& share) noexcept {
    complete_ = shares_.push_back(share) && complete_;
  }

  /// Indexed like `Snapshot::stacks`.
  ArenaArray<HeaptrackShare> shares_;
  std::optional<std::size_t> temporary_at_peak_;
  /// Bytes at the peak of the stack that has the temporary block; its share without that block.
  std::uint64_t bytes_at_peak_ = 0;
  HeaptrackShare given_up_;
  bool complete_ = true;
};

}  // namespace alloctap
