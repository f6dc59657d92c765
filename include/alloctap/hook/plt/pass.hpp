/// State of the PLT backend, one walk over the GOT slots of all modules, and stores to slots.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/elf/mapped_image.hpp"
#include "alloctap/elf/symbol_slots.hpp"
#include "alloctap/hook/module_selection.hpp"
#include "alloctap/hook/plt/target.hpp"
#include "alloctap/os/loaded_images.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/static_objects.hpp"
#include "alloctap/runtime/text_bytes.hpp"
#include "alloctap/runtime/text_pool.hpp"

namespace alloctap {

/// Index of the group of loader functions, which are hooked in every module.
inline constexpr std::uint32_t kLoaderGroup = 31;

constexpr std::uint32_t group_bit(std::uint32_t group) noexcept {
  return std::uint32_t{1} << group;
}

/// A slot that holds a handler, and the slot's previous value.
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
  /// Number of refreshes, since the process started, that were postponed until the program next
  /// calls the loader.
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

/// A compare-and-exchange on one slot.
struct SlotStore {
  std::uintptr_t address = 0;
  std::uintptr_t expected = 0;
  std::uintptr_t desired = 0;
};

/// Writer of GOT slots by atomic compare-and-exchange, because other threads call through them.
/// Makes protected pages writable for the store and then restores their protection. Control plane.
/// The slots' modules must stay loaded during the call. errno may change.
class SlotWriter {
 public:
  explicit SlotWriter(const MemoryRegions& regions) noexcept : regions_(regions) {}

  [[nodiscard]] static std::uintptr_t read(std::uintptr_t slot) noexcept {
    return std::atomic_ref(*reinterpret_cast<std::uintptr_t*>(slot))
        .load(std::memory_order_acquire);
  }

  /// Sorts and performs `stores`, and calls `visit(const SlotStore&, bool stored)` for each.
  template <class Visit>
  void write(std::span<SlotStore> stores, Visit&& visit) const noexcept {
    std::sort(stores.begin(), stores.end(),
              [](const SlotStore& a, const SlotStore& b) { return a.address < b.address; });
    while (!stores.empty()) {
      const os::MemoryRegion* region = regions_.find(stores.front().address);
      const auto beyond = std::find_if(stores.begin(), stores.end(), [region](const auto& store) {
        return region == nullptr || store.address >= region->end;
      });
      const auto count = region == nullptr ? 1 : static_cast<std::size_t>(beyond - stores.begin());
      write_region(region, stores.first(count), visit);
      stores = stores.subspan(count);
    }
  }

 private:
  template <class Visit>
  static void write_region(const os::MemoryRegion* region, std::span<SlotStore> stores,
                           Visit& visit) noexcept {
    const std::uintptr_t page = ~(os::page_size() - 1);
    const std::uintptr_t start = stores.front().address & page;
    const std::size_t bytes = (stores.back().address & page) + os::page_size() - start;
    const bool is_protected = region != nullptr && !region->writable;
    const bool writable =
        region != nullptr && (region->writable || unprotect(*region, start, bytes));
    for (const SlotStore& store : stores) visit(store, writable && exchange(store));
    if (writable && is_protected) {
      os::protect_pages(
          start, bytes,
          {.readable = region->readable, .writable = false, .executable = region->executable});
    }
  }

  static bool unprotect(const os::MemoryRegion& region, std::uintptr_t start,
                        std::size_t bytes) noexcept;

  static bool exchange(const SlotStore& store) noexcept;

  const MemoryRegions& regions_;
};

enum class PltAction : std::uint8_t { kHook, kUnhook, kLook };

/// Result of a walk for one module.
struct PltModule {
  /// Path of the file, and the name in the loader's list.
  std::string_view path;
  std::string_view name;
  /// Bit mask of the function groups that are chosen for this module.
  std::uint32_t groups = 0;
  /// False if the module's memory was unmapped without dlclose.
  bool is_mapped = true;
  bool has_imports = false;
  /// Number of slots of chosen functions that hold a handler.
  std::uint32_t hooked = 0;
  /// Number of slots that hold an unknown address, such as another allocator's or tool's.
  std::uint32_t foreign = 0;
  /// Number of slots in a module that another thread is still opening.
  std::uint32_t unfinished = 0;
  /// Number of slots that could not be written.
  std::uint32_t refused = 0;
};

/// A function that a module imports and whose original is unknown.
struct MissingOriginal {
  PltTarget* target = nullptr;
  /// Name by which the loader lists the importing module.
  std::string_view importer;
  /// Address that the look-up returned; 0 if the function is not visible to the importing module.
  std::uintptr_t original = 0;
};

/// Walk that hooks, restores or counts all GOT slots. Single use; requires the control lock.
///
/// Hooks a slot only if the slot holds the address of the function or of the module's lazy-binding
/// stub. Skips slots with other values, because the loader lists a module before it fills the
/// module's slots, and the module may have its own allocator. Sources: glibc's elf/dl-object.c,
/// elf/dl-reloc.c.
class PltPass {
 public:
  PltPass(PltState& state, PltAction action) noexcept : state_(state), action_(action) {}

  void run() noexcept;

  [[nodiscard]] const ArenaArray<PltModule>& modules() const noexcept { return modules_; }
  /// Returns the modules that the walk skipped, because their patterns must be evaluated first.
  [[nodiscard]] const ArenaArray<PltModule>& unknown() const noexcept { return unknown_; }
  [[nodiscard]] const ArenaArray<MissingOriginal>& missing() const noexcept { return missing_; }

 private:
  void visit(const os::LoadedImage& image) noexcept;

  /// Appends `module` with copies of its names, because the loader owns the module's name and this
  /// walk owns the path.
  void note(PltModule module, ArenaArray<PltModule>& modules) noexcept;

  /// Returns the copy of the module's name that `PltState` owns. The copy exists, because only
  /// modules with evaluated patterns are walked.
  [[nodiscard]] std::string_view kept_name(const PltModule& module) const noexcept {
    const ChosenModule* chosen = state_.chosen.find(module.path, module.name);
    return chosen == nullptr ? std::string_view{} : chosen->name;
  }

  static bool is_systems(const os::LoadedImage& image) noexcept;

  [[nodiscard]] bool is_left_alone(const elf::LoadedMemory& memory) const noexcept;

  [[nodiscard]] bool is_mapped(const os::LoadedImage& image) const noexcept;

  void walk(const elf::LoadedMemory& memory, PltModule& module) noexcept;

  void plan_return(std::uintptr_t slot, const PltTarget& target) noexcept;

  void plan(const elf::LoadedMemory& memory, const elf::SymbolSlot& slot, PltTarget& target,
            PltModule& module) noexcept;

  void keep(const SlotStore& store, bool stored, PltModule& module) noexcept;

  [[nodiscard]] bool is_of_loader(std::uintptr_t handler) noexcept;

  static bool leads_to(const elf::LoadedMemory& memory, const elf::SymbolSlot& slot,
                       std::uintptr_t value, const PltTarget& target) noexcept;

  /// Returns true if `value` is an address of executable memory. A slot that the loader has not
  /// filled holds an offset in the file instead.
  [[nodiscard]] bool is_code(std::uintptr_t value) const noexcept {
    const os::MemoryRegion* region = regions_.find(value);
    return region != nullptr && region->executable;
  }

  /// Returns true if `slot` lies in RELRO pages that are still writable. The loader write-protects
  /// RELRO pages as the last step of loading, perhaps while this thread patches them.
  [[nodiscard]] bool is_unfinished(const elf::LoadedMemory& memory,
                                   std::uintptr_t slot) const noexcept;

  PltState& state_;
  PltAction action_;
  bool is_first_ = true;
  MemoryRegions regions_;
  ArenaArray<PltModule> modules_;
  ArenaArray<PltModule> unknown_;
  ArenaArray<MissingOriginal> missing_;
  ArenaArray<HookedSlot> hooked_;
  ArenaArray<SlotStore> stores_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/plt/impl/pass.hpp"
#endif
