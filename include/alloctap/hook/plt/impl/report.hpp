/// Definitions for hook/plt/report.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "alloctap/hook/plt/pass.hpp"
#include "alloctap/hook/plt/report.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/message_text.hpp"

namespace alloctap {

ALLOCTAP_INLINE std::string why_skipped(const PltModule& module) {
  if (!module.is_mapped) return "its memory was unmapped behind the loader's back";
  if ((module.groups & ~group_bit(kLoaderGroup)) == 0) return "no pattern chooses it";
  std::string why;
  const auto add = [&why](std::uint32_t count, const char* reason) {
    if (count > 0) append_text(why, join_text(why.empty() ? "" : "; ", count), " ", reason);
  };
  add(module.foreign, "lead to another allocator or to another tool's hook");
  add(module.unfinished, "are in a module that is still being opened");
  add(module.refused, "could not be made writable");
  if (why.empty() && module.hooked == 0) why = "it imports none of the functions";
  return why;
}

ALLOCTAP_INLINE std::string warn_of(const ModulePattern& pattern,
                                    const ArenaArray<PltModule>& modules) {
  std::uint32_t matched = 0;
  std::uint32_t hooked = 0;
  for (const PltModule& module : modules) {
    if (!ModuleSelection::matches(pattern, std::string(module.path), std::string(module.name))) {
      continue;
    }
    ++matched;
    hooked += module.hooked;
  }
  const std::string subject = join_text("pattern \"", pattern.text, "\"");
  if (matched == 0) return join_text(subject, " matches no loaded module");
  if (pattern.leaves_out || hooked > 0) return {};
  return join_text(subject, " matches ", matched,
                   matched == 1 ? " module, which has" : " modules, which have",
                   " nothing to hook");
}

ALLOCTAP_INLINE PltReport make_plt_report(const PltState& state,
                                          const ArenaArray<PltModule>& modules) {
  PltReport report;
  for (const PltModule& module : modules) {
    const std::string_view path = module.path.empty() ? module.name : module.path;
    report.modules.push_back({.path = std::string(path),
                              .hooked = module.hooked,
                              .skipped = module.foreign + module.unfinished + module.refused,
                              .why = why_skipped(module)});
    report.hooked_slots += module.hooked;
  }
  if (const auto late = PltState::refreshes_put_off.load(std::memory_order_relaxed); late > 0) {
    report.warnings.push_back(join_text(
        late,
        " times a module was not hooked as soon as it was opened, because the tracker or other "
        "threads opening modules kept the lock for a tenth of a second: what it allocated until "
        "its thread called dlsym, dlopen or dlclose next is missing"));
  }
  if (const auto blind = PltState::opened_blindly.load(std::memory_order_relaxed); blind > 0) {
    report.warnings.push_back(join_text(
        blind,
        " calls of dlopen came from code without unwind tables, or under a shadow stack: what they "
        "opened was hooked only when their thread called dlsym, dlopen or dlclose next. Call "
        "refresh() behind them"));
  }
  for (const ModuleSelection* selection : state.selections) {
    for (const ModulePattern& pattern : selection->patterns()) {
      std::string warning = warn_of(pattern, modules);
      const bool is_new = std::find(report.warnings.begin(), report.warnings.end(), warning) ==
                          report.warnings.end();
      if (!warning.empty() && is_new) report.warnings.push_back(std::move(warning));
    }
  }
  return report;
}

}  // namespace alloctap
