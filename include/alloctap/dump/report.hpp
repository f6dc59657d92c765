/// The input of dump policies: a snapshot, its modules, the program and the backend.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/symbols.hpp"

namespace alloctap {

/// The tracked program.
struct ProgramInfo {
  std::int32_t pid = 0;
  std::string_view executable;
  /// The arguments, separated by '\0'.
  std::string_view command;
};

/// The names of the tracker's policies.
struct BackendInfo {
  std::string_view hook;
  std::string_view stack;
  std::uint32_t max_frames = 0;
  std::string_view symbolizer;
  /// Returns why symbols are incomplete, or an empty string if they are complete. The answer may be
  /// known only after symbolizing. The pointer is nullptr if the symbolizer has no such function.
  std::string_view (*find_symbolizer_note)() noexcept = nullptr;
  /// What the hook cannot observe; empty if the hook observes everything.
  std::string_view blind_spots;

  [[nodiscard]] std::string_view symbolizer_note() const noexcept {
    return find_symbolizer_note == nullptr ? std::string_view() : find_symbolizer_note();
  }
};

/// The parts that a report may have. Dumps need not compile code for parts that the report's type
/// excludes.
struct ReportFeatures {
  /// Tags and threads as owners of stacks.
  bool owners = true;
  /// Misuses found by checks, and guard pages.
  bool misuses = true;
  /// Game frames and budgets.
  bool game_frames = true;
  /// Pools that the program annotates.
  bool pools = true;
};

/// A view of the tracker's data, valid only during a dump.
struct Report {
  static constexpr ReportFeatures features{};

  const Snapshot& snapshot;
  const ModuleTable& modules;
  ProgramInfo program;
  BackendInfo backend;
  /// Resolves addresses to functions; see `Symbolizer`. Dumps call it through `FrameList`.
  void (*symbolize)(std::span<const CodeAddress> places, Symbols& symbols) noexcept;
};

/// The report of a tracker whose config has only the parts in `kFeatures`.
template <ReportFeatures kFeatures>
struct ReportWith : Report {
  static constexpr ReportFeatures features = kFeatures;
};

}  // namespace alloctap
