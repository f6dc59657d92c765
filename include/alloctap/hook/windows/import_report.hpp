/// Human-readable report of `WindowsImportHook`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/hook/windows/import_pass.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

struct ImportModuleReport {
  std::string path;
  /// Slots that lead to the tracker.
  std::uint32_t hooked = 0;
  /// Slots named like a hooked function that do not lead to the tracker.
  std::uint32_t skipped = 0;
  /// Why slots were skipped, or none is hooked; empty if all are hooked.
  std::string why;
};

struct ImportReport {
  std::vector<ImportModuleReport> modules;
  /// What is hooked late or not at all.
  std::vector<std::string> warnings;
  std::uint32_t hooked_slots = 0;
};

/// Result of a walk for one module. Does not own the path.
struct ImportModule {
  std::string_view path;
  ImportCounts counts;
};

/// Returns why slots of a module are not hooked.
[[nodiscard]] inline std::string why_skipped(const ImportCounts& counts) {
  std::string why;
  const auto add = [&why](std::uint32_t count, const char* reason) {
    if (count > 0) append_text(why, join_text(why.empty() ? "" : "; ", count), " ", reason);
  };
  add(counts.foreign, "lead to another tool's hook");
  add(counts.unbound, "are bound when they are first called");
  add(counts.refused, "could not be made writable");
  if (why.empty() && counts.hooked == 0) why = "it imports none of the functions";
  return why;
}

/// `modules` is the result of a finished walk. Allocates.
[[nodiscard]] inline ImportReport make_import_report(const ArenaArray<ImportModule>& modules) {
  ImportReport report;
  for (const ImportModule& module : modules) {
    const ImportCounts& counts = module.counts;
    report.modules.push_back({.path = std::string(module.path),
                              .hooked = counts.hooked,
                              .skipped = counts.foreign + counts.unbound + counts.refused,
                              .why = why_skipped(counts)});
    report.hooked_slots += counts.hooked;
  }
  return report;
}

}  // namespace alloctap
