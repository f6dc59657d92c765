/// A heap profile read from a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/symbols.hpp"

namespace alloctap {

/// A return address that occurs in stacks of the profile.
struct SavedFrame {
  static constexpr std::uint64_t kNoModule = std::numeric_limits<std::uint64_t>::max();

  /// The return address in the recorded process.
  std::uint64_t address = 0;
  /// The index of the module, or `kNoModule`. `offset` is the file offset of the call.
  std::uint64_t module = kNoModule;
  std::uint64_t offset = 0;
  /// The range of the frame's functions in `SavedProfile::sources`, innermost inlined one first.
  std::size_t first_source = 0;
  std::size_t sources = 0;
};

/// A stack and its sums. `sums.stack` is no id of this process.
struct SavedStack {
  StackSummary sums;
  /// The stack's range in `SavedProfile::frame_numbers`. Its frames are listed innermost first.
  std::size_t first_frame = 0;
  std::size_t frames = 0;
  bool outside_size_range = false;
  /// The path of the stack's tag; empty if the stack has no tag.
  std::string_view tag = {};
};

/// The contents of a profile file. Allocated in the arena. All strings refer to `text`. Move-only.
struct SavedProfile {
  std::uint64_t pid = 0;
  std::string_view executable;
  /// Time of the snapshot, in nanoseconds since the Unix epoch.
  std::uint64_t time_ns = 0;
  Totals totals;
  ArenaArray<Module> modules;
  ArenaArray<SavedFrame> frames;
  ArenaArray<SourceFrame> sources;
  ArenaArray<std::uint64_t> frame_numbers;
  ArenaArray<SavedStack> stacks;
  ArenaArray<char> text;

  /// Returns the frames of a stack as indices into `frames`, innermost first.
  [[nodiscard]] std::span<const std::uint64_t> frames_of(const SavedStack& stack) const noexcept {
    return {frame_numbers.data() + stack.first_frame, stack.frames};
  }
  /// Returns the functions of a frame, innermost inlined function first. Empty if unknown.
  [[nodiscard]] std::span<const SourceFrame> sources_of(const SavedFrame& frame) const noexcept {
    return {sources.data() + frame.first_source, frame.sources};
  }
  /// Returns the module of a frame, or nullptr if unknown.
  [[nodiscard]] const Module* module_of(const SavedFrame& frame) const noexcept {
    return frame.module == SavedFrame::kNoModule ? nullptr : &modules[frame.module];
  }
};

}  // namespace alloctap
