/// Which blocks of every stack a heaptrack file shows when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "alloctap/dump/lifetime_breakdown.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// The blocks of a stack, and how many of them are temporary.
struct HeaptrackShare {
  LifetimeBreakdown held;
  /// Of `held.rest`.
  std::uint64_t temporary = 0;
  /// One block of `held.peak_only` is temporary too.
  bool temporary_at_peak = false;
};

/// Shares of all stacks. Temporary blocks are freed at once, so only one can be there at the peak,
/// with all else that was: the one of the stack that held most. Where the numbers of a stack do not
/// go together, what it holds in the end stands for what it held at the peak. Memory from the
/// arena.
class HeaptrackPlan {
 public:
  explicit HeaptrackPlan(const Snapshot& snapshot) noexcept {
    for (const StackSummary& stack : snapshot.stacks) {
      const PeakStackSummary peak = snapshot.peak.of(stack.stack);
      add(stack, {peak.live_allocations, peak.live_bytes});
    }
  }

  /// False: the system had no memory for it.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Of the stack with that number in the snapshot.
  [[nodiscard]] const HeaptrackShare& share(std::size_t stack) const noexcept {
    return shares_[stack];
  }

  /// The stack with a temporary block at the peak; nothing if there is none.
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

  /// The stack that was added last takes it, and the one that had it is as if it held nothing.
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

  /// By the stack's number in the snapshot.
  ArenaArray<HeaptrackShare> shares_;
  std::optional<std::size_t> temporary_at_peak_;
  /// What `temporary_at_peak_` held then, and its share if it is given up.
  std::uint64_t bytes_at_peak_ = 0;
  HeaptrackShare given_up_;
  bool complete_ = true;
};

}  // namespace alloctap
