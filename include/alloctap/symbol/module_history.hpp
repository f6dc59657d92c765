/// The modules that were unloaded, with the names of their frames.
#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/symbols.hpp"

namespace alloctap {

/// A module that was unloaded while stacks with addresses in it were kept.
struct UnloadedModule {
  Module module;
  /// The instructions of calls in it that are in stacks, ascending, and what they are called:
  /// symbolized when it went, because its file may be built anew at any time.
  ArenaArray<CodeAddress> places;
  Symbols symbols;
  UnloadedModule* next = nullptr;
};

/// Which modules there were last time, and which of them went since then. Memory from the arena;
/// constant-initialized, never destroyed. Not thread-safe: behind the control lock.
class ModuleHistory {
 public:
  constexpr ModuleHistory() noexcept = default;
  ModuleHistory(const ModuleHistory&) = delete;
  ModuleHistory& operator=(const ModuleHistory&) = delete;

  /// Looks what is loaded now; calls `visit(const Module&)` for each module that was there last
  /// time, and is not any more or is another one. Where that cannot be told, nothing has changed.
  template <class Visit>
  void update(Visit&& visit) noexcept {
    ModuleTable now = ModuleTable::read();
    if (now.reading() != ModuleReading::kComplete) return;
    if (known_ == nullptr) {
      void* memory = Arena::allocate(sizeof(ModuleTable));
      if (memory == nullptr) return;
      known_ = ::new (memory) ModuleTable;
    }
    for (const Module& module : known_->loaded()) {
      const Module* other = now.find(module.start);
      if (other == nullptr || !is_same(module, *other)) visit(module);
    }
    *known_ = std::move(now);
  }

  /// Keeps `module`, which is gone; `before` is the first stack that will be kept from now on.
  /// nullptr where the system has no memory.
  UnloadedModule* add(const Module& module, StackId before) noexcept;

  /// Calls `visit(UnloadedModule&)` for each whose places were not symbolized yet.
  template <class Visit>
  void for_each_unnamed(Visit&& visit) noexcept {
    for (UnloadedModule* unloaded = first_; unloaded != nullptr; unloaded = unloaded->next) {
      if (unloaded->symbols.size() == 0) visit(*unloaded);
    }
  }

  /// The module, unloaded by now, that held `address` when `stack` was recorded; nullptr if none.
  [[nodiscard]] const UnloadedModule* find(std::uintptr_t address, StackId stack) const noexcept;

  /// Adds the modules that were loaded last time to `modules`, which has none; false where the
  /// system has no memory.
  [[nodiscard]] bool add_loaded_to(ModuleTable& modules) const noexcept;

  /// Adds the unloaded modules to `modules`; false where the system has no memory.
  [[nodiscard]] bool add_to(ModuleTable& modules) const noexcept;

  /// As a symbolizer, for places in unloaded modules alone.
  void symbolize(std::span<const CodeAddress> places, Symbols& symbols) const noexcept;

 private:
  static bool is_same(const Module& a, const Module& b) noexcept;

  static std::span<const SourceFrame> frames_of(const UnloadedModule& unloaded,
                                                std::uintptr_t address) noexcept;

  ModuleTable* known_ = nullptr;
  UnloadedModule* first_ = nullptr;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/symbol/impl/module_history.hpp"
#endif
