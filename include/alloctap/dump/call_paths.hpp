/// A report's stacks as paths in a prefix tree of calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/dump/frame_labels.hpp"
#include "alloctap/dump/path_tree.hpp"
#include "alloctap/dump/report.hpp"

namespace alloctap {

/// Prefix tree of call stacks. A step is a call's number in the `FrameList`, or one of two
/// placeholders for stacks without frames. Uses arena memory. The report must outlive this object.
class CallPaths {
 public:
  explicit CallPaths(const Report& report) noexcept : report_(report), labels_(report) {}

  /// Returns false if memory for the frames ran out. No other member may then be called.
  [[nodiscard]] bool complete() const noexcept { return labels_.complete(); }

  /// Adds the path of `stack` from the thread's start to the allocation. Returns the path's last
  /// node, or `PathTree::kNone` if out of memory.
  [[nodiscard]] PathTree::Node add_root_first(StackId stack) noexcept {
    const auto frames = report_.snapshot.table->frames(stack);
    PathTree::Node node = PathTree::kRoot;
    for (std::size_t i = frames.size(); i-- > 0;) node = below(node, stack, frames[i]);
    return frames.empty() ? tree_.below(node, stand_in(stack)) : node;
  }

  /// Adds the path of `stack` from the allocation outward, cut after `max_calls` calls. Returns
  /// the path's last node, or `PathTree::kNone` if out of memory.
  [[nodiscard]] PathTree::Node add_leaf_first(StackId stack, std::size_t max_calls) noexcept {
    const auto frames = report_.snapshot.table->frames(stack);
    PathTree::Node node = PathTree::kRoot;
    for (std::size_t i = 0; i < frames.size() && i < max_calls; ++i) {
      node = below(node, stack, frames[i]);
    }
    return frames.empty() ? tree_.below(node, stand_in(stack)) : node;
  }

  [[nodiscard]] const PathTree& tree() const noexcept { return tree_; }

  /// Returns the number of distinct calls, including the two placeholders.
  [[nodiscard]] std::size_t calls() const noexcept { return labels_.list().size() + 2; }

  /// Returns a call's address and module. A placeholder has address 0 and no module.
  [[nodiscard]] CodeAddress place(std::size_t call) const noexcept {
    return call < labels_.list().size() ? labels_.list().place(call) : CodeAddress{};
  }

  /// Calls `visit(const LabelledFrame&)` for each function at a call's address, innermost first.
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
