/// A heap profile that was saved and read again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/source_frame.hpp"

namespace alloctap {

/// A call in some stacks.
struct SavedFrame {
  static constexpr std::uint64_t kNoModule = std::numeric_limits<std::uint64_t>::max();

  /// The return address in the process that was.
  std::uint64_t address = 0;
  /// The number of its module, and the place of the call in that file.
  std::uint64_t module = kNoModule;
  std::uint64_t offset = 0;
  /// Where `SavedProfile::sources` has the functions at that place, and how many there are: the
  /// innermost inlined one first.
  std::size_t first_source = 0;
  std::size_t sources = 0;
};

/// A stack and its sums; the `stack` of these is no id of this process.
struct SavedStack {
  StackSummary sums;
  /// Where `SavedProfile::frame_numbers` has its frames, leaf first, and how many there are.
  std::size_t first_frame = 0;
  std::size_t frames = 0;
  bool outside_size_range = false;
  /// The path of its tag; empty where it has none.
  std::string_view tag = {};
};

/// What was found in a file. Memory from the arena; all texts are parts of `text`. Move-only.
struct SavedProfile {
  std::uint64_t pid = 0;
  std::string_view executable;
  /// When the snapshot was taken, in nanoseconds since the Unix epoch.
  std::uint64_t time_ns = 0;
  Totals totals;
  ArenaArray<Module> modules;
  ArenaArray<SavedFrame> frames;
  ArenaArray<SourceFrame> sources;
  ArenaArray<std::uint64_t> frame_numbers;
  ArenaArray<SavedStack> stacks;
  ArenaArray<char> text;

  /// The numbers of a stack's frames, leaf first.
  [[nodiscard]] std::span<const std::uint64_t> frames_of(const SavedStack& stack) const noexcept {
    return {frame_numbers.data() + stack.first_frame, stack.frames};
  }
  /// The functions at a frame's place, the innermost inlined one first; none if unknown.
  [[nodiscard]] std::span<const SourceFrame> sources_of(const SavedFrame& frame) const noexcept {
    return {sources.data() + frame.first_source, frame.sources};
  }
  /// The module of a frame; nullptr if there is none.
  [[nodiscard]] const Module* module_of(const SavedFrame& frame) const noexcept {
    return frame.module == SavedFrame::kNoModule ? nullptr : &modules[frame.module];
  }
};

}  // namespace alloctap
