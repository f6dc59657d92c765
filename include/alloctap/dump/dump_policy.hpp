/// Contract of dump policies, and the report that they write.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/symbols.hpp"

namespace alloctap {

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

/// The input of dump policies: a view of the tracker's data, valid only during a dump.
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

/// A value type that writes one report format, with options as plain members. `write` runs on the
/// control plane, reads only the report, and allocates nothing from the program's heap. The
/// `DumpWriter` handles output errors. If the report's type is a template parameter, `write` may
/// omit parts that the type's `features` exclude.
template <class D>
concept DumpPolicy = requires(const D& dump, const Report& report, DumpWriter& writer) {
  { dump.write(report, writer) } -> std::same_as<void>;
};

/// The minimal type that satisfies the concept `DumpPolicy`.
struct DumpPolicyArchetype {
  void write(const Report&, DumpWriter&) const {}
};

static_assert(DumpPolicy<DumpPolicyArchetype>);

}  // namespace alloctap
