/// The stacks of a report as paths in one tree.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/dump/frame_labels.hpp"
#include "alloctap/dump/path_tree.hpp"
#include "alloctap/dump/report.hpp"

namespace alloctap {

/// The steps of the tree are calls: numbers in the `FrameList`, and after these two that stand for
/// stacks without frames. Memory from the arena. Refers to the report.
class CallPaths {
 public:
  explicit CallPaths(const Report& report) noexcept : report_(report), labels_(report) {}

  /// False: the system had no memory for all frames; nothing else may be asked then.
  [[nodiscard]] bool complete() const noexcept { return labels_.complete(); }

  /// The end of the path from the thread's start to the allocation; `PathTree::kNone` where the
  /// system has no memory for it.
  [[nodiscard]] PathTree::Node add_root_first(StackId stack) noexcept {
    const auto frames = report_.snapshot.table->frames(stack);
    PathTree::Node node = PathTree::kRoot;
    for (std::size_t i = frames.size(); i-- > 0;) node = below(node, stack, frames[i]);
    return frames.empty() ? tree_.below(node, stand_in(stack)) : node;
  }

  /// The end of the path from the allocation outward, over at most `most_calls` calls; likewise.
  [[nodiscard]] PathTree::Node add_leaf_first(StackId stack, std::size_t most_calls) noexcept {
    const auto frames = report_.snapshot.table->frames(stack);
    PathTree::Node node = PathTree::kRoot;
    for (std::size_t i = 0; i < frames.size() && i < most_calls; ++i) {
      node = below(node, stack, frames[i]);
    }
    return frames.empty() ? tree_.below(node, stand_in(stack)) : node;
  }

  [[nodiscard]] const PathTree& tree() const noexcept { return tree_; }

  /// How many calls there are, the two stand-ins among them.
  [[nodiscard]] std::size_t calls() const noexcept { return labels_.list().size() + 2; }

  /// Where a call is; an address of 0 of a stand-in.
  [[nodiscard]] CodeAddress place(std::size_t call) const noexcept {
    return call < labels_.list().size() ? labels_.list().place(call) : CodeAddress{};
  }

  /// Calls `visit(const LabelledFrame&)` for the functions at a call, innermost first.
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
