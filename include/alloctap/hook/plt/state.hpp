/// State of the PLT backend.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/hook/module_selection.hpp"
#include "alloctap/hook/plt/target.hpp"
#include "alloctap/os/loaded_images.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/no_destroy_lazy.hpp"
#include "alloctap/runtime/text_hash.hpp"
#include "alloctap/runtime/text_pool.hpp"

namespace alloctap {

/// Index of the group of loader functions, which are hooked in every module.
inline constexpr std::uint32_t kLoaderGroup = 31;

constexpr std::uint32_t group_bit(std::uint32_t group) noexcept {
  return std::uint32_t{1} << group;
}

/// A slot that holds a handler, and its previous value.
struct HookedSlot {
  std::uintptr_t address = 0;
  std::uintptr_t previous = 0;
};

/// Groups of functions to hook in one module, as the patterns decided.
struct ChosenModule {
  std::string_view path;
  std::string_view name;
  std::size_t hash = 0;
  std::uint32_t groups = 0;
};

/// Cache of pattern results. Needed because a walk locks the loader's list, and pattern matching is
/// slow and allocates. Its memory is allocated in the tracker's arena.
class ChosenModules {
 public:
  static std::size_t hash(std::string_view path, std::string_view name) noexcept {
    return hash_text(path) * 31 + hash_text(name);
  }

  [[nodiscard]] const ChosenModule* find(std::string_view path,
                                         std::string_view name) const noexcept;

  /// Returns false if out of memory.
  [[nodiscard]] bool add(const ChosenModule& module) noexcept { return modules_.push_back(module); }

  void clear() noexcept { modules_.clear(); }

 private:
  ArenaArray<ChosenModule> modules_;
};

/// State shared by all `PltHook`s, of which only one is installed at a time. The control lock
/// guards all but the static members.
struct PltState {
  /// Copies of the names of all modules seen, for reports.
  TextPool names;
  PltTargets targets;
  ChosenModules chosen;
  /// Slots that hold handlers, sorted by address. Every hooking walk rebuilds the list from the
  /// modules mapped at that time. So no entry is older than the module at the entry's address.
  ArenaArray<HookedSlot> hooked;
  /// Patterns, indexed by group.
  std::span<const ModuleSelection* const> selections;
  /// Modules that hold one of these addresses are never hooked.
  static inline constinit std::array<const void*, 4> left_alone{};
  /// The loader's counts of loads and unloads at the last hooking walk. They are read without the
  /// control lock, because a torn read costs only one extra walk.
  static inline constinit std::atomic<std::uint64_t> loaded{0};
  static inline constinit std::atomic<std::uint64_t> unloaded{0};
  /// Number of dlopen calls without a return gadget, since the start.
  static inline constinit std::atomic<std::uint64_t> opened_blindly{0};
  /// Number of refreshes postponed to a later call of the loader, since the start.
  static inline constinit std::atomic<std::uint64_t> refreshes_put_off{0};
  /// True while slots are hooked.
  static inline constinit std::atomic<bool> active{false};

  [[nodiscard]] static os::LoaderCounts last_counts() noexcept {
    return {.loaded = loaded.load(std::memory_order_relaxed),
            .unloaded = unloaded.load(std::memory_order_relaxed)};
  }

  /// Returns the value that the slot at `address` had before it was hooked; 0 if unknown.
  [[nodiscard]] std::uintptr_t previous(std::uintptr_t address) const noexcept;

  /// Returns a bit mask of the groups whose patterns choose the module. Allocates.
  [[nodiscard]] std::uint32_t groups_of(std::string_view path, std::string_view name) const;
};

inline constinit NoDestroyLazy<PltState> lasting_plt_state;

/// Returns the only instance. Requires the control lock.
inline PltState& plt_state() noexcept { return lasting_plt_state.get(); }

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/plt/impl/state.hpp"
#endif
