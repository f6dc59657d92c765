/// massif's heap tree: an inverted call tree with the allocation functions at its root.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/export/call_paths.hpp"
#include "alloctap/dump/export/frame_labels.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Tree of bytes by call path, innermost call first: a caller is a child of the function that it
/// called. A line is `n<children>: <bytes> <call>`, indented by one space for each level. Children
/// below the threshold share one line. Uses arena memory. `paths` must outlive this object.
class MassifTree {
 public:
  /// Cuts paths after `max_calls` calls. Shows nodes that hold at least `threshold_percent` of all
  /// bytes.
  MassifTree(CallPaths& paths, std::size_t max_calls, std::uint32_t threshold_percent) noexcept
      : paths_(paths), max_calls_(max_calls), threshold_percent_(threshold_percent) {}

  /// Adds the bytes of a stack. Returns false if out of memory.
  [[nodiscard]] bool add(StackId stack, std::uint64_t bytes) noexcept {
    if (bytes == 0) return true;
    const PathTree::Node node = paths_.add_leaf_first(stack, max_calls_);
    total_ += bytes;
    return node != PathTree::kNone && ends_.push_back({node, bytes});
  }

  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }

  /// Writes the tree. Returns false if out of memory.
  [[nodiscard]] bool write(DumpWriter& out) {
    if (!sum_up() || !list_children()) return false;
    const Family root = family_of(PathTree::kRoot);
    write_line(out, 0, root.lines(), total_,
               "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.");
    write_children(out, root, 1);
    return true;
  }

 private:
  struct Held {
    PathTree::Node node = PathTree::kRoot;
    std::uint64_t bytes = 0;
  };

  /// The children of a node: an array of the shown children, and the sums of all others.
  struct Family {
    const PathTree::Node* begin = nullptr;
    const PathTree::Node* end = nullptr;
    std::uint64_t others = 0;
    std::uint64_t other_bytes = 0;

    [[nodiscard]] std::uint64_t lines() const noexcept {
      return static_cast<std::uint64_t>(end - begin) + (others > 0 ? 1 : 0);
    }
  };

  /// Adds each node's bytes to its parent, last node first, because parents have smaller numbers.
  bool sum_up() noexcept {
    const PathTree& tree = paths_.tree();
    if (!bytes_.resize(std::size_t{tree.last()} + 1)) return false;
    for (const Held& end : ends_) bytes_[end.node] += end.bytes;
    for (PathTree::Node node = tree.last(); node > PathTree::kRoot; --node) {
      bytes_[tree.parent(node)] += bytes_[node];
    }
    return true;
  }

  bool list_children() noexcept {
    const PathTree& tree = paths_.tree();
    for (PathTree::Node node = 1; node <= tree.last(); ++node) {
      if (bytes_[node] > 0 && !children_.push_back(node)) return false;
    }
    std::sort(children_.begin(), children_.end(), [&](PathTree::Node one, PathTree::Node other) {
      if (tree.parent(one) != tree.parent(other)) return tree.parent(one) < tree.parent(other);
      return bytes_[one] != bytes_[other] ? bytes_[one] > bytes_[other] : one < other;
    });
    return true;
  }

  [[nodiscard]] bool is_shown(PathTree::Node node) const noexcept {
    return static_cast<long double>(bytes_[node]) * 100 >=
           static_cast<long double>(total_) * threshold_percent_;
  }

  [[nodiscard]] Family family_of(PathTree::Node node) const noexcept {
    const PathTree& tree = paths_.tree();
    const auto* child =
        std::partition_point(children_.begin(), children_.end(),
                             [&](PathTree::Node other) { return tree.parent(other) < node; });
    Family family{.begin = child, .end = child};
    for (; child != children_.end() && tree.parent(*child) == node; ++child) {
      if (is_shown(*child)) {
        family.end = child + 1;
      } else {
        ++family.others;
        family.other_bytes += bytes_[*child];
      }
    }
    return family;
  }

  /// Writes children. Recurses at most as deep as the longest path.
  void write_children(DumpWriter& out, const Family& family, std::size_t depth) {
    for (const PathTree::Node* node = family.begin; node != family.end; ++node) {
      const Family below = family_of(*node);
      write_children(out, below, write_call(out, *node, below, depth));
    }
    if (family.others > 0) write_others(out, family, depth);
  }

  /// Writes a line for each function at a call's address. Returns the depth of the call's children.
  std::size_t write_call(DumpWriter& out, PathTree::Node node, const Family& below,
                         std::size_t depth) {
    const std::uint32_t call = paths_.tree().step(node);
    paths_.visit_functions(call, [&](const LabelledFrame& frame) {
      const ValgrindFrame text(frame, paths_.place(call));
      write_line(out, depth++, frame.inlined ? 1 : below.lines(), bytes_[node], text.view());
    });
    return depth;
  }

  void write_others(DumpWriter& out, const Family& family, std::size_t depth) {
    begin_line(out, depth, 0, family.other_bytes);
    out << "in " << family.others << (family.others == 1 ? " place, " : " places, all ")
        << "below massif's threshold (" << threshold_percent_ << ".00%)\n";
  }

  static void begin_line(DumpWriter& out, std::size_t depth, std::uint64_t lines_below,
                         std::uint64_t bytes) {
    for (std::size_t i = 0; i < depth; ++i) out << ' ';
    out << 'n' << lines_below << ": " << bytes << ' ';
  }

  /// Writes a line. '#', which begins a comment, and control characters become '?'.
  static void write_line(DumpWriter& out, std::size_t depth, std::uint64_t lines_below,
                         std::uint64_t bytes, std::string_view text) {
    begin_line(out, depth, lines_below, bytes);
    for (const char character : text) {
      const bool control = static_cast<unsigned char>(character) < 0x20;
      out << (control || character == '#' ? '?' : character);
    }
    out << '\n';
  }

  CallPaths& paths_;
  std::size_t max_calls_;
  std::uint32_t threshold_percent_;
  std::uint64_t total_ = 0;
  ArenaArray<Held> ends_;
  /// The bytes of each node, indexed by node.
  ArenaArray<std::uint64_t> bytes_;
  /// The nodes that hold bytes, grouped by parent; in a group, most bytes first.
  ArenaArray<PathTree::Node> children_;
};

}  // namespace alloctap
