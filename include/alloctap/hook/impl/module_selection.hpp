/// Definitions for hook/module_selection.hpp.
#pragma once

#include <string>
#include <utility>

#include "alloctap/hook/module_selection.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/path_pattern.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

ALLOCTAP_INLINE bool ModuleSelection::selects(const std::string& path,
                                              const std::string& name) const {
  if (rules_ == nullptr) return selects_by_default_;
  bool chosen = rules_->predicate != nullptr ? rules_->predicate(path) : chooses_nothing();
  for (const ModulePattern& pattern : rules_->patterns) {
    if (!matches(pattern, path, name)) continue;
    if (pattern.leaves_out) return false;
    chosen = true;
  }
  return chosen;
}

ALLOCTAP_INLINE bool ModuleSelection::matches(const ModulePattern& pattern, const std::string& path,
                                              const std::string& name) {
  // The guard hides the matcher's allocations, because the matcher keeps them until `clear`.
  const ReentrancyGuard guard;
  return pattern.compiled.matches(path) || (!name.empty() && pattern.compiled.matches(name));
}

ALLOCTAP_INLINE bool ModuleSelection::chooses_nothing() const {
  for (const ModulePattern& pattern : rules_->patterns) {
    if (!pattern.leaves_out) return false;
  }
  return selects_by_default_;
}

ALLOCTAP_INLINE Status ModuleSelection::add(const std::string& pattern, bool leaves_out) {
  const ReentrancyGuard guard;
  os::PatternError error;
  os::PathPattern compiled(pattern, error);
  if (error.text.empty()) {
    rules().patterns.push_back({pattern, std::move(compiled), leaves_out});
    return Status();
  }
  Status status = Status::invalid_argument("pattern \"", pattern, "\" for modules: ", error.text,
                                           ", at character ", error.position + 1, " (\"",
                                           pattern.substr(error.position),
                                           "\"); write a POSIX extended "
                                           "regular expression");
  rules().status.update(status);
  return status;
}

}  // namespace alloctap
