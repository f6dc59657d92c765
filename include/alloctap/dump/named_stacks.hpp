/// Symbolized stack frames that remain valid when the report has ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "alloctap/dump/frame_list.hpp"
#include "alloctap/dump/report.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_set.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// A function on a stack, and the source line and address of its pending call.
struct NamedFrame {
  /// The demangled name; empty if unknown.
  std::string_view function = {};
  /// The path of the module's file; empty if the module is unknown.
  std::string_view module = {};
  /// The path of the source file, as in the debug information; empty if unknown.
  std::string_view file = {};
  /// The line number, counted from 1; 0 if unknown.
  std::uint32_t line = 0;
  /// Whether the function is inlined into the function of the next frame.
  bool inlined = false;
  /// The call's address in the module's file, or in the process if the module is unknown.
  std::uint64_t offset = 0;
  /// The call's address in the process: the `call_address` of the return address.
  std::uint64_t address = 0;

  /// Returns the name of the module's file without directories.
  [[nodiscard]] std::string_view module_name() const noexcept {
    return module.substr(module.find_last_of("/\\") + 1);
  }
};

/// Symbolized frames of chosen stacks. The frames stay valid after the tracker's session. Uses
/// arena memory. Move-only; const members are thread-safe.
class NamedStacks {
 public:
  /// Symbolizes `stacks`, which may be in any order and have duplicates. `report` must contain them
  /// all. Returns an error if out of memory. Control plane.
  [[nodiscard]] static Result<NamedStacks> name(const Report& report,
                                                std::span<const StackId> stacks) {
    NamedStacks named;
    const FrameList list(report, stacks);
    if (!list.complete() || !named.add_all(report, list, stacks)) {
      return Status::resource_exhausted("named stacks: the system has no memory for them");
    }
    return named;
  }

  /// Returns the stack's frames, leaf first. Empty if `stack` was not requested or has no frames.
  [[nodiscard]] std::span<const NamedFrame> frames(StackId stack) const noexcept {
    const auto* const found =
        std::lower_bound(stacks_.begin(), stacks_.end(), stack,
                         [](const Range& range, StackId wanted) { return range.stack < wanted; });
    if (found == stacks_.end() || found->stack != stack) return {};
    return {frames_.data() + found->begin, found->size};
  }

 private:
  struct Range {
    StackId stack = kNoStackId;
    std::size_t begin = 0;
    std::size_t size = 0;
  };

  NamedStacks() = default;

  bool add_all(const Report& report, const FrameList& list, std::span<const StackId> stacks) {
    for (const StackId stack : stacks) {
      if (!stacks_.push_back({.stack = stack})) return false;
    }
    const auto by_id = [](const Range& a, const Range& b) { return a.stack < b.stack; };
    const auto same = [](const Range& a, const Range& b) { return a.stack == b.stack; };
    std::sort(stacks_.begin(), stacks_.end(), by_id);
    const auto* const end = std::unique(stacks_.begin(), stacks_.end(), same);
    if (!stacks_.resize(static_cast<std::size_t>(end - stacks_.begin()))) return false;
    return std::all_of(stacks_.begin(), stacks_.end(),
                       [&](Range& range) { return add(report, list, range); });
  }

  bool add(const Report& report, const FrameList& list, Range& range) {
    range.begin = frames_.size();
    for (const std::uintptr_t frame : report.snapshot.table->frames(range.stack)) {
      if (!add(list, list.index_of(range.stack, frame))) return false;
    }
    range.size = frames_.size() - range.begin;
    return true;
  }

  bool add(const FrameList& list, std::size_t index) {
    const auto [address, module] = list.place(index);
    NamedFrame frame{.offset = address, .address = address};
    if (module != nullptr) {
      frame.module = texts_.keep(module->path);
      frame.offset -= module->bias;
    }
    const auto source = list.source(index);
    for (std::size_t i = 0; i < source.size(); ++i) {
      frame.function = texts_.keep(source[i].function);
      frame.file = texts_.keep(source[i].file);
      frame.line = source[i].line;
      frame.inlined = i + 1 < source.size();
      if (!frames_.push_back(frame)) return false;
    }
    return !source.empty() || frames_.push_back(frame);
  }

  ArenaArray<Range> stacks_;
  ArenaArray<NamedFrame> frames_;
  TextSet texts_;
};

}  // namespace alloctap
