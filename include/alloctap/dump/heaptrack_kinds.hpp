/// Pairs of size and trace that events refer to, in heaptrack's text format.
#pragma once

#include <cstdint>

#include "alloctap/dump/heaptrack_lines.hpp"
#include "alloctap/dump/path_tree.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Writes an `a` line at the first use of each pair of size and trace, and numbers the pairs. Never
/// uses number 0, whose free heaptrack takes for temporary after another free. Uses arena memory.
class HeaptrackKinds {
 public:
  static constexpr std::uint32_t kNone = 0;

  explicit HeaptrackKinds(HeaptrackLines lines) noexcept : lines_(lines) {}

  /// Returns the pair's number, or `kNone` if out of memory.
  [[nodiscard]] std::uint32_t number_of(std::uint64_t size, PathTree::Node trace) {
    const PathTree::Node pair = node_of(size, trace);
    if (pair == PathTree::kNone || !numbers_.resize(pairs_.last() + std::size_t{1})) return kNone;
    if (numbers_[pair] == kNone) {
      if (last_ == 0) lines_.line('a', size, trace);
      lines_.line('a', size, trace);
      numbers_[pair] = ++last_;
    }
    return numbers_[pair];
  }

 private:
  /// Returns the tree node of a pair. A step has 32 bits, so a large size takes two steps.
  [[nodiscard]] PathTree::Node node_of(std::uint64_t size, PathTree::Node trace) {
    const PathTree::Node low =
        pairs_.below(pairs_.below(PathTree::kRoot, trace), static_cast<std::uint32_t>(size));
    return size >> 32 == 0 ? low : pairs_.below(low, static_cast<std::uint32_t>(size >> 32));
  }

  HeaptrackLines lines_;
  PathTree pairs_;
  /// Indexed by node.
  ArenaArray<std::uint32_t> numbers_;
  std::uint32_t last_ = 0;
};

}  // namespace alloctap
