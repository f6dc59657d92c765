/// Definitions for symbol/module_table.hpp.
#pragma once

#include <cstring>
#include <utility>

#include "alloctap/macros.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace alloctap {

ALLOCTAP_INLINE ModuleTable ModuleTable::read() noexcept {
  ModuleTable table;
  ArenaArray<char> buffer;
  if (!buffer.reserve(kBufferBytes) || !table.file_start_.resize(kFileStartBytes)) {
    table.reading_ = ModuleReading::kNoMemory;
    return table;
  }
  const bool readable =
      os::visit_memory_map({buffer.data(), kBufferBytes}, [&](const os::MemoryRegion& region) {
        table.visit(region);
        return table.reading_ == ModuleReading::kComplete;
      });
  if (!readable) table.reading_ = ModuleReading::kUnreadable;
  table.forget_data();
  return table;
}

ALLOCTAP_INLINE const Module* ModuleTable::find(std::uintptr_t address) const noexcept {
  const auto* above = std::upper_bound(
      modules_.begin(), modules_.begin() + loaded_, address,
      [](std::uintptr_t value, const Module& module) { return value < module.start; });
  if (above == modules_.begin() || !(above - 1)->contains(address)) return nullptr;
  return above - 1;
}

ALLOCTAP_INLINE const Module* ModuleTable::find_unloaded(std::uintptr_t address,
                                                         StackId stack) const noexcept {
  for (const Module& module : modules().subspan(loaded_)) {
    if (stack < module.unloaded_before && module.contains(address)) return &module;
  }
  return nullptr;
}

ALLOCTAP_INLINE bool ModuleTable::add_loaded(const Module& module) noexcept {
  if (!add_unloaded(module)) return false;
  loaded_ = modules_.size();
  return true;
}

ALLOCTAP_INLINE bool ModuleTable::add_unloaded(const Module& module) noexcept {
  Module added = module;
  added.path = paths_.keep(module.path);
  return added.path.size() == module.path.size() && modules_.push_back(added);
}

ALLOCTAP_INLINE void ModuleTable::visit(const os::MemoryRegion& region) noexcept {
  const bool may_start = region.file_offset == 0 && region.readable && os::may_hold_module(region);
  if (may_start) add(region);
  if (region.executable && !modules_.empty() && modules_.back().contains(region.start)) {
    modules_.back().has_code = true;
  }
}

ALLOCTAP_INLINE void ModuleTable::add(const os::MemoryRegion& region) noexcept {
  auto image = read_image(region, kFirstPageBytes);
  if (!image || image->build_id.empty()) image = read_image(region, kFileStartBytes);
  if (!image) return;
  Module module;
  module.start = region.start;
  module.end = image->end;
  module.bias = image->bias;
  module.build_id_bytes = std::min(sizeof module.build_id, image->build_id.size());
  if (module.build_id_bytes > 0) {
    std::memcpy(module.build_id, image->build_id.data(), module.build_id_bytes);
  }
  module.is_gone = region.is_gone;
  module.path = paths_.keep(region.path);
  if (module.path.empty() || !modules_.push_back(module)) reading_ = ModuleReading::kNoMemory;
}

ALLOCTAP_INLINE void ModuleTable::forget_data() noexcept {
  ArenaArray<Module> with_code;
  for (const Module& module : modules_) {
    if (module.has_code && !with_code.push_back(module)) reading_ = ModuleReading::kNoMemory;
  }
  modules_ = std::move(with_code);
  loaded_ = modules_.size();
}

}  // namespace alloctap
