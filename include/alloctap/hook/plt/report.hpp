/// What `PltHook` did, for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "alloctap/hook/plt/pass.hpp"

namespace alloctap {

/// One module and its slots; for the loader's own functions nothing is counted.
struct PltModuleReport {
  std::string path;
  /// Slots that lead to the tracker.
  std::uint32_t hooked = 0;
  /// Slots that do not, though their functions are chosen for the module.
  std::uint32_t skipped = 0;
  /// Why slots were skipped, or why none is hooked; empty where all is well.
  std::string why;
};

struct PltReport {
  std::vector<PltModuleReport> modules;
  /// Patterns that had no effect, and modules that may have been hooked late.
  std::vector<std::string> warnings;
  std::uint32_t hooked_slots = 0;
};

/// In words, why not all of `module` is hooked.
[[nodiscard]] std::string why_skipped(const PltModule& module);

/// The pattern's effect on `modules`: a warning, or nothing.
[[nodiscard]] std::string warn_of(const ModulePattern& pattern,
                                  const ArenaArray<PltModule>& modules);

/// `modules` are those of a finished walk. Allocates.
[[nodiscard]] PltReport make_plt_report(const PltState& state,
                                        const ArenaArray<PltModule>& modules);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/plt/impl/report.hpp"
#endif
