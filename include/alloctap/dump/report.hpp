/// Everything that a dump policy may show.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/symbols.hpp"

namespace alloctap {

/// The program that the report is about.
struct ProgramInfo {
  std::int32_t pid = 0;
  std::string_view executable;
  /// The arguments, '\0' between them.
  std::string_view command;
};

/// How the tracker was composed.
struct BackendInfo {
  std::string_view hook;
  std::string_view stack;
  std::uint32_t max_frames = 0;
  std::string_view symbolizer;
  /// Returns why it knows less than it could; empty if nothing is wrong. May be known only once it
  /// was asked for names. nullptr if it has no such function.
  std::string_view (*find_symbolizer_note)() noexcept = nullptr;
  /// What the hook cannot see; empty if nothing.
  std::string_view blind_spots;

  [[nodiscard]] std::string_view symbolizer_note() const noexcept {
    return find_symbolizer_note == nullptr ? std::string_view() : find_symbolizer_note();
  }
};

/// Which parts a report may have. What the type of a report excludes need not be compiled into a
/// dump of it.
struct ReportFeatures {
  /// Tags or threads that stacks belong to.
  bool owners = true;
  /// Faults that checks found, and guard pages.
  bool misuses = true;
  /// Frames of a game, and budgets.
  bool game_frames = true;
  /// Pools of the program's.
  bool pools = true;
};

/// Refers to what the tracker holds during a dump.
struct Report {
  static constexpr ReportFeatures features{};

  const Snapshot& snapshot;
  const ModuleTable& modules;
  ProgramInfo program;
  BackendInfo backend;
  /// As `Symbolizer`. Dumps use `FrameList`, which asks it.
  void (*symbolize)(std::span<const CodeAddress> places, Symbols& symbols) noexcept;
};

/// The report of a tracker whose config has those features alone.
template <ReportFeatures kFeatures>
struct ReportWith : Report {
  static constexpr ReportFeatures features = kFeatures;
};

}  // namespace alloctap
