/// One walk over the GOT slots of all modules.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "alloctap/elf/loaded_memory.hpp"
#include "alloctap/elf/symbol_slots.hpp"
#include "alloctap/hook/memory_regions.hpp"
#include "alloctap/hook/plt/slot_writer.hpp"
#include "alloctap/hook/plt/state.hpp"
#include "alloctap/os/loaded_images.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

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

/// Walk that hooks, restores or counts all slots. Single use; requires the control lock.
///
/// Writes a slot only if it holds the function's known address, or the module's lazy-binding stub.
/// Skips other values, because the loader lists a module before it fills the module's slots, and
/// the module may have its own allocator. Sources: glibc's elf/dl-object.c, elf/dl-reloc.c.
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

  /// Appends `module` with copies of its names, because the loader and this walk own the names.
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

  /// Returns false if the loader has not filled the slot, which then holds an offset in the file.
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
