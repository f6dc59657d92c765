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
  /// Why it knows less than it could; empty if nothing is wrong.
  std::string_view symbolizer_note = {};
  /// What the hook cannot see; empty if nothing.
  std::string_view blind_spots;
};

/// Refers to what the tracker holds during a dump.
struct Report {
  const Snapshot& snapshot;
  const ModuleTable& modules;
  ProgramInfo program;
  BackendInfo backend;
  /// As `Symbolizer`. Dumps use `FrameList`, which asks it.
  void (*symbolize)(std::span<const CodePlace> places, Symbols& symbols) noexcept;
};

}  // namespace alloctap
