/// Allocations and deallocations in heaptrack's text format.
#pragma once

#include <algorithm>
#include <cstdint>

#include "alloctap/dump/heaptrack_lines.hpp"
#include "alloctap/dump/path_tree.hpp"

namespace alloctap {

/// Some blocks of one stack.
struct BlockCount {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

/// Writes events that add up to given numbers. What allocates is an `a` line, a size and a trace,
/// numbered from 0; an event is a `+` or `-` line with that number. The sizes of the blocks are not
/// known, only their sum: they get the mean size, some of them one byte more.
///
/// To heaptrack, a block is temporary if its `-` follows directly on a `+` with the same number. So
/// the blocks of stacks that are freed, but not temporary, are freed as another `a` line of the
/// same size and trace. At most one of them is there at a time, which adds nothing to the peak.
class HeaptrackEvents {
 public:
  explicit HeaptrackEvents(HeaptrackLines lines) noexcept : lines_(lines) {}

  /// Blocks that were freed, the first `temporary` of them at once.
  void freed(PathTree::Node trace, BlockCount blocks, std::uint64_t temporary) {
    for_each_size(blocks, [&](std::uint64_t size, std::uint64_t count) {
      const std::uint64_t at_once = std::min(count, temporary);
      temporary -= at_once;
      const std::uint64_t kind = add_kind(size, trace);
      repeat(kind, kind, at_once);
      if (at_once < count) repeat(kind, add_kind(size, trace), count - at_once);
    });
  }

  /// Blocks that stay.
  void live(PathTree::Node trace, BlockCount blocks) {
    for_each_size(blocks, [&](std::uint64_t size, std::uint64_t count) {
      const RepeatedHeaptrackLine line('+', add_kind(size, trace));
      for (std::uint64_t i = 0; i < count; ++i) lines_.out() << line.view();
    });
  }

 private:
  /// Calls `visit(size, count)` for one or two sizes.
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

  void repeat(std::uint64_t allocated, std::uint64_t freed, std::uint64_t count) {
    const RepeatedHeaptrackLine allocation('+', allocated);
    const RepeatedHeaptrackLine deallocation('-', freed);
    for (std::uint64_t i = 0; i < count && lines_.out().ok(); ++i) {
      lines_.out() << allocation.view() << deallocation.view();
    }
  }

  HeaptrackLines lines_;
  std::uint64_t kinds_ = 0;
};

}  // namespace alloctap
