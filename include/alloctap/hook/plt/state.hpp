/// What the PLT backend remembers.
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

/// The functions of the loader are hooked in every module, whatever is chosen.
inline constexpr std::uint32_t kLoaderGroup = 31;

constexpr std::uint32_t group_bit(std::uint32_t group) noexcept {
  return std::uint32_t{1} << group;
}

/// A word that holds a handler, and what it held before.
struct HookedSlot {
  std::uintptr_t address = 0;
  std::uintptr_t previous = 0;
};

/// Which groups of functions are hooked in a module: what the patterns say of its names.
struct ChosenModule {
  std::string_view path;
  std::string_view name;
  std::size_t hash = 0;
  std::uint32_t groups = 0;
};

/// Answers of patterns, which are too slow, and allocate too much, to be asked with the loader's
/// lists locked. Memory from the arena.
class ChosenModules {
 public:
  static std::size_t hash(std::string_view path, std::string_view name) noexcept {
    return hash_text(path) * 31 + hash_text(name);
  }

  [[nodiscard]] const ChosenModule* find(std::string_view path,
                                         std::string_view name) const noexcept;

  /// False where the system has no memory.
  [[nodiscard]] bool add(const ChosenModule& module) noexcept { return modules_.push_back(module); }

  void clear() noexcept { modules_.clear(); }

 private:
  ArenaArray<ChosenModule> modules_;
};

/// The state behind all `PltHook`s: one of them is installed at a time. Guarded by the control
/// lock, but for what is static.
struct PltState {
  /// Names of modules that were seen; they stay for reports.
  TextPool names;
  PltTargets targets;
  ChosenModules chosen;
  /// By address. A slot that holds a handler was hooked in the module that lies there now, and
  /// every pass writes this list anew: so nothing here is ever older than the module.
  ArenaArray<HookedSlot> hooked;
  /// In the order of groups.
  std::span<const ModuleSelection* const> selections;
  /// Modules that hold one of these addresses are left alone.
  static inline constinit std::array<const void*, 4> left_alone{};
  /// The loader's counts at the last walk that hooked slots; compared without the lock, where a
  /// torn reading costs one walk.
  static inline constinit std::atomic<std::uint64_t> loaded{0};
  static inline constinit std::atomic<std::uint64_t> unloaded{0};
  /// Calls of dlopen that nothing could be done behind, since the start.
  static inline constinit std::atomic<std::uint64_t> opened_blindly{0};
  /// Refreshes that were left for the thread's next call of the loader, since the start.
  static inline constinit std::atomic<std::uint64_t> refreshes_put_off{0};
  /// Whether slots are hooked.
  static inline constinit std::atomic<bool> active{false};

  [[nodiscard]] static os::LoaderCounts last_counts() noexcept {
    return {.loaded = loaded.load(std::memory_order_relaxed),
            .unloaded = unloaded.load(std::memory_order_relaxed)};
  }

  /// What the slot at `address` held before; 0 where that is not known.
  [[nodiscard]] std::uintptr_t previous(std::uintptr_t address) const noexcept;

  /// Asks the patterns for the groups of a module. Allocates.
  [[nodiscard]] std::uint32_t groups_of(std::string_view path, std::string_view name) const;
};

inline constinit NoDestroyLazy<PltState> lasting_plt_state;

/// The one state. Behind the control lock.
inline PltState& plt_state() noexcept { return lasting_plt_state.get(); }

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/plt/impl/state.hpp"
#endif
