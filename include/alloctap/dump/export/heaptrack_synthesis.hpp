/// Synthetic events in heaptrack's text format, which add up to the totals of a snapshot.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "alloctap/dump/export/call_paths.hpp"
#include "alloctap/dump/export/heaptrack_trace.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// A number of blocks of one stack, and their bytes.
struct BlockCount {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;

  /// Saturates at 0, because sampled numbers are estimates and may be inconsistent.
  friend constexpr BlockCount operator-(const BlockCount& all, const BlockCount& part) noexcept {
    return {all.blocks - std::min(all.blocks, part.blocks),
            all.bytes - std::min(all.bytes, part.bytes)};
  }
  friend constexpr BlockCount operator+(const BlockCount& one, const BlockCount& other) noexcept {
    return {one.blocks + other.blocks, one.bytes + other.bytes};
  }
  friend constexpr bool operator==(const BlockCount&, const BlockCount&) noexcept = default;
};

/// The blocks of a stack, partitioned by lifetime.
struct LifetimeBreakdown {
  /// Blocks that were freed and were not live at the peak.
  BlockCount rest;
  /// Blocks that were live at the peak and freed later.
  BlockCount peak_only;
  /// Blocks that were live at the peak and at the end.
  BlockCount both;
  /// Blocks that were live at the end but not at the peak.
  BlockCount end_only;

  friend constexpr bool operator==(const LifetimeBreakdown&,
                                   const LifetimeBreakdown&) noexcept = default;
};

namespace internal {

/// Returns whether `part` can be a subset of `all`. If part or rest has bytes, it must have blocks.
[[nodiscard]] constexpr bool can_be_part(const BlockCount& part, const BlockCount& all) noexcept {
  if (part.blocks > all.blocks || part.bytes > all.bytes) return false;
  const BlockCount left = all - part;
  return (part.blocks > 0 || part.bytes == 0) && (left.blocks > 0 || left.bytes == 0);
}

}  // namespace internal

/// Splits `all` by lifetime, consistent with `at_peak` and `at_end`, with at least `least_rest`
/// blocks in `rest`. Returns nullopt if impossible. The number of blocks live at both times is
/// unknown. Tries the maximum, maximum minus 1, and minimum: if any number is possible, one of the
/// three is. (Between the extremes, every part has blocks and so may have bytes.)
[[nodiscard]] constexpr std::optional<LifetimeBreakdown> split_held(
    const BlockCount& all, const BlockCount& at_peak, const BlockCount& at_end,
    std::uint64_t least_rest) noexcept {
  using internal::can_be_part;
  if (!can_be_part(at_peak, all) || !can_be_part(at_end, all)) return std::nullopt;
  const BlockCount most{std::min(at_peak.blocks, at_end.blocks),
                        std::min(at_peak.bytes, at_end.bytes)};
  const BlockCount least = at_peak + at_end - all;
  const BlockCount between{most.blocks - (most.blocks > 0 ? 1 : 0), most.bytes};
  for (const BlockCount& both : {most, between, least}) {
    const BlockCount either = at_peak + at_end - both;
    const bool fits = both.blocks >= least.blocks && both.bytes >= least.bytes &&
                      can_be_part(both, at_peak) && can_be_part(both, at_end) &&
                      can_be_part(either, all) && (all - either).blocks >= least_rest;
    if (fits) return LifetimeBreakdown{all - either, at_peak - both, both, at_end - both};
  }
  return std::nullopt;
}

/// Writer of events that add up to given totals. An `a` line declares a pair of size and trace; `a`
/// lines are numbered from 0. An event is a `+` or `-` line with the number of an `a` line. Because
/// only the sum of the block sizes is known, blocks get the mean size, or one byte more.
///
/// heaptrack counts a block as temporary if its `-` line directly follows a `+` line with an equal
/// number. The `-` line of a block that is not temporary therefore names a second `a` line of equal
/// size and trace. Only one such block is live at a time, so the peak does not grow. (heaptrack
/// also counts a `- 0` after another `-` as temporary. Number 0 is therefore freed only directly
/// after its `+`.)
class HeaptrackEvents {
 public:
  explicit HeaptrackEvents(HeaptrackLines lines) noexcept : lines_(lines) {}

  /// Writes blocks that were freed. heaptrack counts the first `temporary` blocks as temporary.
  void freed(PathTree::Node trace, BlockCount blocks, std::uint64_t temporary) {
    for_each_size(blocks, [&](std::uint64_t size, std::uint64_t count) {
      const std::uint64_t at_once = std::min(count, temporary);
      temporary -= at_once;
      const std::uint64_t kind = add_kind(size, trace);
      repeat(kind, kind, at_once);
      if (at_once < count) repeat(kind, add_kind(size, trace), count - at_once);
    });
  }

  /// Writes allocations of blocks that stay live until `free_held`. Returns false if out of memory.
  [[nodiscard]] bool held(PathTree::Node trace, BlockCount blocks) {
    bool complete = true;
    for_each_size(blocks, [&](std::uint64_t size, std::uint64_t count) {
      allocate(add_kind(size, trace), count);
      complete = held_.push_back({add_kind(size, trace), count}) && complete;
    });
    return complete;
  }

  /// Calls `held` with all blocks but one, which becomes temporary. Returns false if out of memory.
  [[nodiscard]] bool held_for_a_moment(PathTree::Node trace, BlockCount blocks) {
    const BlockCount one{1, blocks.bytes / blocks.blocks};
    const bool complete = held(trace, blocks - one);
    const std::uint64_t kind = add_kind(one.bytes, trace);
    repeat(kind, kind, 1);
    return complete;
  }

  void free_held() {
    for (const Held& held : held_) {
      const RepeatedHeaptrackLine line('-', held.kind);
      for (std::uint64_t i = 0; i < held.count && lines_.out().ok(); ++i) {
        lines_.out() << line.view();
      }
    }
    held_.clear();
  }

  /// Writes allocations of blocks that are never freed.
  void live(PathTree::Node trace, BlockCount blocks) {
    for_each_size(blocks, [&](std::uint64_t size, std::uint64_t count) {
      allocate(add_kind(size, trace), count);
    });
  }

 private:
  /// Assigns at most two sizes to `blocks`, and calls `visit(size, count)` for each size.
  template <class Visit>
  static void for_each_size(BlockCount blocks, Visit&& visit) {
    if (blocks.blocks == 0) return;
    const std::uint64_t size = blocks.bytes / blocks.blocks;
    const std::uint64_t larger = blocks.bytes % blocks.blocks;
    if (larger > 0) visit(size + 1, larger);
    visit(size, blocks.blocks - larger);
  }

  std::uint64_t add_kind(std::uint64_t size, PathTree::Node trace) {
    lines_.line('a', size, trace);
    return kinds_++;
  }

  void allocate(std::uint64_t kind, std::uint64_t count) {
    const RepeatedHeaptrackLine line('+', kind);
    for (std::uint64_t i = 0; i < count && lines_.out().ok(); ++i) lines_.out() << line.view();
  }

  void repeat(std::uint64_t allocated, std::uint64_t freed, std::uint64_t count) {
    const RepeatedHeaptrackLine allocation('+', allocated);
    const RepeatedHeaptrackLine deallocation('-', freed);
    for (std::uint64_t i = 0; i < count && lines_.out().ok(); ++i) {
      lines_.out() << allocation.view() << deallocation.view();
    }
  }

  /// The number of an `a` line, and the number of `-` lines that `free_held` writes for it.
  struct Held {
    std::uint64_t kind = 0;
    std::uint64_t count = 0;
  };

  HeaptrackLines lines_;
  std::uint64_t kinds_ = 0;
  ArenaArray<Held> held_;
};

/// A stack's blocks by lifetime, and the number of temporary blocks.
struct HeaptrackShare {
  LifetimeBreakdown held;
  /// The number of temporary blocks in `held.rest`.
  std::uint64_t temporary = 0;
  /// Whether one block in `held.peak_only` is temporary too.
  bool temporary_at_peak = false;
};

/// A `HeaptrackShare` for each stack, in the arena. A temporary block is freed directly after its
/// allocation, so only one can be live at the peak. The stack with most bytes at the peak gets this
/// block. If a stack's numbers are inconsistent, ignores blocks live only at the peak.
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

  /// Assigns the temporary block that is live at the peak to the stack added last, with `share`.
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
  /// The stack of the temporary block: its bytes at the peak; its share without the block.
  std::uint64_t bytes_at_peak_ = 0;
  HeaptrackShare given_up_;
  bool complete_ = true;
};

}  // namespace alloctap
