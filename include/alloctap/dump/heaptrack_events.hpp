/// Synthetic allocations and deallocations in heaptrack's text format.
#pragma once

#include <algorithm>
#include <cstdint>

#include "alloctap/dump/heaptrack_lines.hpp"
#include "alloctap/dump/lifetime_breakdown.hpp"
#include "alloctap/dump/path_tree.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

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

}  // namespace alloctap
