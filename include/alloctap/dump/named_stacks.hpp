/// What the frames of stacks are called, for whoever looks at stacks outside of a report.
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

/// A function that was in the middle of a call.
struct NamedFrame {
  /// Demangled; empty where it is unknown.
  std::string_view function = {};
  /// The path of the module's file; empty where no module is known.
  std::string_view module = {};
  /// The path of the source file, as the compiler noted it; empty where it is unknown.
  std::string_view file = {};
  /// From 1; 0 where it is unknown.
  std::uint32_t line = 0;
  /// Whether the compiler put the function into that of the next frame.
  bool inlined = false;
  /// Of the call in the module's file, or in the process where no module is known.
  std::uint64_t offset = 0;
  /// Of the call in the process: `call_address` of the frame.
  std::uint64_t address = 0;

  /// The file's name without its directories.
  [[nodiscard]] std::string_view module_name() const noexcept {
    return module.substr(module.find_last_of("/\\") + 1);
  }
};

/// Names of the frames of some stacks; they outlive the tracker's session. Memory from the arena.
/// Move-only; what is const is thread-safe.
class NamedStacks {
 public:
  /// Of `stacks`, whatever their order, each once or more often; of a report that has them. Fails
  /// where the system has no memory for it. Control plane.
  [[nodiscard]] static Result<NamedStacks> name(const Report& report,
                                                std::span<const StackId> stacks) {
    NamedStacks named;
    const FrameList list(report, stacks);
    if (!list.complete() || !named.add_all(report, list, stacks)) {
      return Status::resource_exhausted("named stacks: the system has no memory for them");
    }
    return named;
  }

  /// Leaf first; none where the stack was not asked for or has no frames.
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
