/// The stacks of a report in heaptrack's text format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/frame_labels.hpp"
#include "alloctap/dump/heaptrack_lines.hpp"
#include "alloctap/dump/path_tree.hpp"
#include "alloctap/dump/report.hpp"
#include "alloctap/dump/text_numbers.hpp"
#include "alloctap/guard/arena_array.hpp"

namespace alloctap {

/// Writes texts (`s`), calls (`i`) and the tree of calls (`t`); a stack is the number of its leaf
/// in the tree. Texts and calls are numbered from 1 in the order of their lines, and so are the
/// nodes, whose parents come first. Memory from the arena.
class HeaptrackTraces {
 public:
  HeaptrackTraces(const Report& report, HeaptrackLines lines) noexcept
      : report_(report), lines_(lines), labels_(report) {}

  /// False: the system had no memory for all of it.
  [[nodiscard]] bool write() {
    if (!labels_.complete() || !number_texts()) return false;
    for (const std::string_view text : texts_.texts()) lines_.text(text);
    write_calls();
    if (!add_stacks()) return false;
    for (PathTree::Node node = 1; node <= tree_.last(); ++node) {
      lines_.line('t', tree_.step(node), tree_.parent(node));
    }
    return true;
  }

  /// The trace of the stack with that number in the snapshot. After `write`.
  [[nodiscard]] PathTree::Node trace(std::size_t stack) const noexcept { return traces_[stack]; }

 private:
  [[nodiscard]] std::size_t calls() const noexcept { return labels_.list().size(); }

  /// Beside all calls two that stand for stacks without frames.
  template <class Visit>
  void for_each_function(Visit&& visit) const {
    for (std::size_t call = 0; call < calls(); ++call) {
      for (const LabelledFrame& frame : labels_.at(call)) visit(frame);
    }
    labels_.visit_leaf_first(kUnknownStack, visit);
    labels_.visit_leaf_first(kStackNotTaken, visit);
  }

  bool number_texts() noexcept {
    bool complete = true;
    const auto add = [&](std::string_view text) {
      if (!text.empty()) complete = texts_.number_of(text) != TextNumbers::kNone && complete;
    };
    for_each_function([&](const LabelledFrame& frame) {
      add(frame.label);
      add(frame.file);
    });
    for (const Module& module : report_.modules.modules()) add(module.path);
    return complete;
  }

  /// From 1; 0 of no text.
  std::uint32_t number_of(std::string_view text) noexcept {
    return text.empty() ? 0 : texts_.number_of(text) + 1;
  }

  void write_calls() {
    for (std::size_t call = 0; call < calls(); ++call) {
      const CodePlace& place = labels_.list().place(call);
      begin_call(place.address, place.module);
      for (const LabelledFrame& frame : labels_.at(call)) write_function(frame);
      lines_.end();
    }
    for (const StackId stack : {kUnknownStack, kStackNotTaken}) {
      begin_call(0, nullptr);
      labels_.visit_leaf_first(stack, [&](const LabelledFrame& frame) { write_function(frame); });
      lines_.end();
    }
  }

  void begin_call(std::uintptr_t address, const Module* module) {
    lines_.begin('i');
    lines_.field(address);
    lines_.field(module == nullptr ? 0 : number_of(module->path));
  }

  /// The innermost of a call comes first.
  void write_function(const LabelledFrame& frame) {
    lines_.field(number_of(frame.label));
    lines_.field(number_of(frame.file));
    lines_.field(frame.line);
  }

  bool add_stacks() noexcept {
    for (const StackSummary& stack : report_.snapshot.stacks) {
      const PathTree::Node trace = add(stack.stack);
      if (trace == PathTree::kNone || !traces_.push_back(trace)) return false;
    }
    return true;
  }

  PathTree::Node add(StackId stack) noexcept {
    const auto frames = report_.snapshot.table->frames(stack);
    PathTree::Node node = PathTree::kRoot;
    for (std::size_t i = frames.size(); i-- > 0;) {
      node = tree_.below(node, call_number(labels_.list().index_of(stack, frames[i])));
    }
    if (!frames.empty()) return node;
    return tree_.below(node, call_number(calls() + (stack == kStackNotTaken ? 1 : 0)));
  }

  static std::uint32_t call_number(std::size_t call) noexcept {
    return static_cast<std::uint32_t>(call + 1);
  }

  const Report& report_;
  HeaptrackLines lines_;
  FrameLabels labels_;
  TextNumbers texts_;
  PathTree tree_;
  /// By the stack's number in the snapshot.
  ArenaArray<PathTree::Node> traces_;
};

}  // namespace alloctap
