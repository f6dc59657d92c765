/// A report's stacks as paths in one prefix tree of calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/dump/frame_labels.hpp"
#include "alloctap/dump/path_tree.hpp"
#include "alloctap/dump/report.hpp"

namespace alloctap {

/// Prefix tree of stacks. Its steps are calls, numbered as in `FrameList`; two more numbers are
/// placeholders for stacks without frames. Uses arena memory; the report must outlive it.
class CallPaths {
 public:
  explicit CallPaths(const Report& report) noexcept : report_(report), labels_(report) {}

  /// Returns false if memory for the frames ran out; no other member may be called then.
  [[nodiscard]] bool complete() const noexcept { return labels_.complete(); }

  /// Adds the path from the thread's start to the allocation. Returns its last node, or
  /// `PathTree::kNone` if out of memory.
  [[nodiscard]] PathTree::Node add_root_first(StackId stack) noexcept {
    const auto frames = report_.snapshot.table->frames(stack);
    PathTree::Node node = PathTree::kRoot;
    for (std::size_t i = frames.size(); i-- > 0;) node = below(node, stack, frames[i]);
    return frames.empty() ? tree_.below(node, stand_in(stack)) : node;
  }

  /// Adds the path from the allocation outward, cut after `most_calls` calls. Returns its last
  /// node, or `PathTree::kNone` if out of memory.
  [[nodiscard]] PathTree::Node add_leaf_first(StackId stack, std::size_t most_calls) noexcept {
    const auto frames = report_.snapshot.table->frames(stack);
    PathTree::Node node = PathTree::kRoot;
    for (std::size_t i = 0; i < frames.size() && i < most_calls; ++i) {
      node = below(node, stack, frames[i]);
    }
    return frames.empty() ? tree_.below(node, stand_in(stack)) : node;
  }

  [[nodiscard]] const PathTree& tree() const noexcept { return tree_; }

  /// Returns the number of distinct calls, including the two placeholders.
  [[nodiscard]] std::size_t calls() const noexcept { return labels_.list().size() + 2; }

  /// Returns a call's address and module; address 0 without a module for a placeholder.
  [[nodiscard]] CodeAddress place(std::size_t call) const noexcept {
    return call < labels_.list().size() ? labels_.list().place(call) : CodeAddress{};
  }

  /// Calls `visit(const LabelledFrame&)` for each function at a call, innermost first.
  template <class Visit>
  void visit_functions(std::size_t call, Visit&& visit) const {
    if (call < labels_.list().size()) {
      for (const LabelledFrame& frame : labels_.at(call)) visit(frame);
    } else {
      const bool unknown = call == labels_.list().size();
      labels_.visit_leaf_first(unknown ? kUnknownStack : kStackNotTaken, visit);
    }
  }

 private:
  PathTree::Node below(PathTree::Node node, StackId stack, std::uintptr_t frame) noexcept {
    return tree_.below(node, static_cast<std::uint32_t>(labels_.list().index_of(stack, frame)));
  }

  [[nodiscard]] std::uint32_t stand_in(StackId stack) const noexcept {
    const std::size_t unknown = labels_.list().size();
    return static_cast<std::uint32_t>(stack == kStackNotTaken ? unknown + 1 : unknown);
  }

  const Report& report_;
  FrameLabels labels_;
  PathTree tree_;
};

}  // namespace alloctap
