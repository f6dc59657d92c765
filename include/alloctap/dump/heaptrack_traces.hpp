/// The stacks of a report in heaptrack's text format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/call_paths.hpp"
#include "alloctap/dump/heaptrack_lines.hpp"
#include "alloctap/dump/path_tree.hpp"
#include "alloctap/dump/report.hpp"
#include "alloctap/dump/text_numbers.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Writer of strings (`s`), calls (`i`) and the tree of calls (`t`). The number of a stack's leaf
/// node identifies the stack. Strings, calls and nodes are numbered from 1 in the order of their
/// lines. Parents come before children. Uses arena memory.
class HeaptrackTraces {
 public:
  HeaptrackTraces(const Report& report, HeaptrackLines lines) noexcept
      : report_(report), lines_(lines), paths_(report) {}

  /// Returns false if out of memory.
  [[nodiscard]] bool write() {
    if (!paths_.complete() || !number_texts()) return false;
    for (const std::string_view text : texts_.texts()) lines_.text(text);
    for (std::size_t call = 0; call < paths_.calls(); ++call) write_call(call);
    if (!add_stacks()) return false;
    const PathTree& tree = paths_.tree();
    for (PathTree::Node node = 1; node <= tree.last(); ++node) {
      lines_.line('t', tree.step(node) + 1, tree.parent(node));
    }
    return true;
  }

  /// Returns the trace of the stack at index `stack` in `Snapshot::stacks`. Call `write` first.
  [[nodiscard]] PathTree::Node trace(std::size_t stack) const noexcept { return traces_[stack]; }

 private:
  bool number_texts() noexcept {
    bool complete = true;
    const auto add = [&](std::string_view text) {
      if (!text.empty()) complete = texts_.number_of(text) != TextNumbers::kNone && complete;
    };
    for (std::size_t call = 0; call < paths_.calls(); ++call) {
      paths_.visit_functions(call, [&](const LabelledFrame& frame) {
        add(frame.label);
        add(frame.file);
      });
    }
    for (const Module& module : report_.modules.modules()) add(module.path);
    return complete;
  }

  /// Returns the number of `text`, counted from 1, or 0 if `text` is empty.
  std::uint32_t number_of(std::string_view text) noexcept {
    return text.empty() ? 0 : texts_.number_of(text) + 1;
  }

  /// Writes a call and the functions at the call's address, innermost first.
  void write_call(std::size_t call) {
    const auto [address, module] = paths_.place(call);
    lines_.begin('i');
    lines_.field(address);
    lines_.field(module == nullptr ? 0 : number_of(module->path));
    paths_.visit_functions(call, [&](const LabelledFrame& frame) {
      lines_.field(number_of(frame.label));
      lines_.field(number_of(frame.file));
      lines_.field(frame.line);
    });
    lines_.end();
  }

  bool add_stacks() noexcept {
    for (const StackSummary& stack : report_.snapshot.stacks) {
      const PathTree::Node trace = paths_.add_root_first(stack.stack);
      if (trace == PathTree::kNone || !traces_.push_back(trace)) return false;
    }
    return true;
  }

  const Report& report_;
  HeaptrackLines lines_;
  CallPaths paths_;
  TextNumbers texts_;
  /// Indexed like `Snapshot::stacks`.
  ArenaArray<PathTree::Node> traces_;
};

}  // namespace alloctap
