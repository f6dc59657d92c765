/// Human-readable report of `PltHook`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "alloctap/hook/plt/pass.hpp"

namespace alloctap {

/// Slots of one module, except those of the loader's functions.
struct PltModuleReport {
  std::string path;
  /// Slots that lead to the tracker.
  std::uint32_t hooked = 0;
  /// Slots of chosen functions that do not lead to the tracker.
  std::uint32_t skipped = 0;
  /// Why slots were skipped, or none is hooked; empty if all are hooked.
  std::string why;
};

struct PltReport {
  std::vector<PltModuleReport> modules;
  /// Patterns without effect, and modules that may have been hooked late.
  std::vector<std::string> warnings;
  std::uint32_t hooked_slots = 0;
};

/// Returns why slots of `module` are not hooked.
[[nodiscard]] std::string why_skipped(const PltModule& module);

/// Returns a warning if the pattern hooked nothing in `modules`, else an empty string.
[[nodiscard]] std::string warn_of(const ModulePattern& pattern,
                                  const ArenaArray<PltModule>& modules);

/// `modules` is the result of a finished walk. Allocates.
[[nodiscard]] PltReport make_plt_report(const PltState& state,
                                        const ArenaArray<PltModule>& modules);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/plt/impl/report.hpp"
#endif
