/// Unloaded modules: a queue of unloads, and the names of their frames.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
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

/// A module that was unloaded, while recorded stacks still contain addresses in the module.
struct UnloadedModule {
  Module module;
  /// Addresses of call instructions in recorded stacks, ascending, and their symbols. They are
  /// symbolized at unload, because the file may be rebuilt later.
  ArenaArray<CodeAddress> places;
  Symbols symbols;
  UnloadedModule* next = nullptr;
};

/// The list of unloaded modules, found by comparing successive module lists. The list is allocated
/// in the arena. Constant-initialized, never destroyed. Not thread-safe: the caller holds the
/// control lock.
class ModuleHistory {
 public:
  constexpr ModuleHistory() noexcept = default;
  ModuleHistory(const ModuleHistory&) = delete;
  ModuleHistory& operator=(const ModuleHistory&) = delete;

  /// Reads the module list and calls `visit(const Module&)` for each module that was unloaded or
  /// replaced since the last call. Changes nothing if the list cannot be read.
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

  /// Adds an unloaded module. `before` is the id of the first stack recorded after the unload.
  /// Returns nullptr if out of memory.
  UnloadedModule* add(const Module& module, StackId before) noexcept;

  /// Calls `visit(UnloadedModule&)` for each module whose frames are not symbolized yet.
  template <class Visit>
  void for_each_unnamed(Visit&& visit) noexcept {
    for (UnloadedModule* unloaded = first_; unloaded != nullptr; unloaded = unloaded->next) {
      if (unloaded->symbols.size() == 0) visit(*unloaded);
    }
  }

  /// Returns the unloaded module that contained `address` when `stack` was recorded, or nullptr.
  [[nodiscard]] const UnloadedModule* find(std::uintptr_t address, StackId stack) const noexcept;

  /// Adds the modules found by the last `update` to `modules`. Precondition: `modules` is empty.
  /// Returns false if out of memory.
  [[nodiscard]] bool add_loaded_to(ModuleTable& modules) const noexcept;

  /// Adds the unloaded modules to `modules`. Returns false if out of memory.
  [[nodiscard]] bool add_to(ModuleTable& modules) const noexcept;

  /// Adds to `symbols` the stored symbols of all `places` in unloaded modules. Skips other places.
  void symbolize(std::span<const CodeAddress> places, Symbols& symbols) const noexcept;

 private:
  static bool is_same(const Module& a, const Module& b) noexcept;

  static std::span<const SourceFrame> frames_of(const UnloadedModule& unloaded,
                                                std::uintptr_t address) noexcept;

  ModuleTable* known_ = nullptr;
  UnloadedModule* first_ = nullptr;
};

/// A lock-free ring buffer of modules about to be unloaded. The loader's unload notifications add
/// modules; the thread with the control lock removes modules. The loader serializes the
/// notifications, so the producer is single. Neither side waits or allocates. Constant-initialized,
/// never destroyed.
class UnloadedModuleQueue {
 public:
  static constexpr std::size_t kCapacity = 32;

  /// Enqueues a module that is being unloaded. In stacks with ids from `before` on, addresses in
  /// its range belong to a later module. If the queue is full, drops `module` and sets the overflow
  /// flag.
  void add(const Module& module, StackId before) noexcept;

  /// Calls `visit(const Module&, StackId before)` for each module, oldest first, and removes the
  /// module. Stops and keeps the module if `visit` returns false. The caller holds the control
  /// lock.
  template <class Visit>
  void take(Visit&& visit) noexcept {
    const std::size_t end = end_.load(std::memory_order_acquire);
    for (std::size_t at = begin_.load(std::memory_order_relaxed); at != end; ++at) {
      const Entry& entry = entries_[at % kCapacity];
      if (!visit(entry.module, entry.before)) return;
      begin_.store(at + 1, std::memory_order_release);
    }
  }

  /// Returns and clears the overflow flag.
  [[nodiscard]] bool take_overflow() noexcept { return overflow_.exchange(false); }

 private:
  struct Entry {
    Module module;
    StackId before = kNoStackId;
    std::array<char, 1024> path{};
  };

  std::array<Entry, kCapacity> entries_{};
  std::atomic<std::size_t> begin_{0};
  std::atomic<std::size_t> end_{0};
  std::atomic<bool> overflow_{false};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/symbol/impl/module_history.hpp"
#endif
