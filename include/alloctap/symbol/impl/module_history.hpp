/// Definitions for symbol/module_history.hpp.
#pragma once

#include <algorithm>
#include <cstring>

#include "alloctap/macros.hpp"
#include "alloctap/symbol/module_history.hpp"

namespace alloctap {

ALLOCTAP_INLINE UnloadedModule* ModuleHistory::add(const Module& module, StackId before) noexcept {
  void* memory = Arena::allocate(sizeof(UnloadedModule));
  auto* path = static_cast<char*>(Arena::allocate(module.path.size() + 1));
  if (memory == nullptr || path == nullptr) return nullptr;
  std::memcpy(path, module.path.data(), module.path.size());
  auto* added = ::new (memory) UnloadedModule;
  added->module = module;
  added->module.path = {path, module.path.size()};
  added->module.unloaded_before = before;
  UnloadedModule** end = &first_;
  while (*end != nullptr) end = &(*end)->next;
  *end = added;
  return added;
}

ALLOCTAP_INLINE const UnloadedModule* ModuleHistory::find(std::uintptr_t address,
                                                          StackId stack) const noexcept {
  for (const UnloadedModule* unloaded = first_; unloaded != nullptr; unloaded = unloaded->next) {
    const Module& module = unloaded->module;
    if (stack < module.unloaded_before && module.contains(address)) return unloaded;
  }
  return nullptr;
}

ALLOCTAP_INLINE bool ModuleHistory::add_loaded_to(ModuleTable& modules) const noexcept {
  if (known_ == nullptr) return true;
  return std::all_of(known_->loaded().begin(), known_->loaded().end(),
                     [&](const Module& module) { return modules.add_loaded(module); });
}

ALLOCTAP_INLINE bool ModuleHistory::add_to(ModuleTable& modules) const noexcept {
  for (const UnloadedModule* unloaded = first_; unloaded != nullptr; unloaded = unloaded->next) {
    if (!modules.add_unloaded(unloaded->module)) return false;
  }
  return true;
}

ALLOCTAP_INLINE void ModuleHistory::symbolize(std::span<const CodeAddress> places,
                                              Symbols& symbols) const noexcept {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Module* module = places[i].module;
    if (module == nullptr || !module->is_unloaded()) continue;
    const UnloadedModule* unloaded = find(places[i].address, module->unloaded_before - 1);
    if (unloaded == nullptr) continue;
    for (const SourceFrame& frame : frames_of(*unloaded, places[i].address)) {
      symbols.add(i, frame);
    }
  }
}

ALLOCTAP_INLINE bool ModuleHistory::is_same(const Module& a, const Module& b) noexcept {
  const bool same_id = std::equal(a.build_id, a.build_id + a.build_id_bytes, b.build_id,
                                  b.build_id + b.build_id_bytes);
  const bool same_file = a.build_id_bytes > 0 || a.path == b.path;
  return a.start == b.start && a.end == b.end && same_id && same_file;
}

ALLOCTAP_INLINE std::span<const SourceFrame> ModuleHistory::frames_of(
    const UnloadedModule& unloaded, std::uintptr_t address) noexcept {
  const auto* place = std::lower_bound(
      unloaded.places.begin(), unloaded.places.end(), address,
      [](const CodeAddress& other, std::uintptr_t value) { return other.address < value; });
  if (place == unloaded.places.end() || place->address != address) return {};
  return unloaded.symbols.of(static_cast<std::size_t>(place - unloaded.places.begin()));
}

ALLOCTAP_INLINE void UnloadedModuleQueue::add(const Module& module, StackId before) noexcept {
  const std::size_t end = end_.load(std::memory_order_relaxed);
  if (end - begin_.load(std::memory_order_acquire) == kCapacity) {
    overflow_.store(true, std::memory_order_relaxed);
    return;
  }
  Entry& entry = entries_[end % kCapacity];
  entry.module = module;
  const std::size_t length = std::min(module.path.size(), entry.path.size());
  std::memcpy(entry.path.data(), module.path.data(), length);
  entry.module.path = {entry.path.data(), length};
  entry.before = before;
  end_.store(end + 1, std::memory_order_release);
}

}  // namespace alloctap
