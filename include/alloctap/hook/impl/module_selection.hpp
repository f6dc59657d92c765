/// Definitions for hook/module_selection.hpp.
#pragma once

#include <algorithm>

#include "alloctap/hook/module_selection.hpp"
#include "alloctap/macros.hpp"

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
  // The guard keeps the matcher's allocations unrecorded, because they are live until `clear`.
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

ALLOCTAP_INLINE MemoryRegions MemoryRegions::read() noexcept {
  MemoryRegions regions;
  ArenaArray<char> buffer;
  if (!buffer.reserve(kBufferBytes)) return regions;
  os::visit_memory_map({buffer.data(), kBufferBytes},
                       [&](const os::MemoryRegion& region) { return regions.add(region); });
  return regions;
}

ALLOCTAP_INLINE const os::MemoryRegion* MemoryRegions::find(std::uintptr_t address) const noexcept {
  const auto* above = std::upper_bound(
      regions_.begin(), regions_.end(), address,
      [](std::uintptr_t value, const os::MemoryRegion& region) { return value < region.end; });
  return above == regions_.end() || address < above->start ? nullptr : above;
}

ALLOCTAP_INLINE bool MemoryRegions::is_readable(std::uintptr_t address,
                                                std::uint64_t bytes) const noexcept {
  const std::uintptr_t end = address + bytes;
  if (end < address) return false;
  while (address < end) {
    const os::MemoryRegion* region = find(address);
    if (region == nullptr || !region->readable) return false;
    address = region->end;
  }
  return true;
}

ALLOCTAP_INLINE bool MemoryRegions::add(os::MemoryRegion region) noexcept {
  const bool is_new = regions_.empty() || regions_.back().path != region.path;
  region.path = is_new ? paths_.keep(region.path) : regions_.back().path;
  return regions_.push_back(region);
}

}  // namespace alloctap
