/// One walk over the slots of all modules.
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

/// What a walk met in one module.
struct PltModule {
  /// Where its file is, and what the loader calls it.
  std::string_view path;
  std::string_view name;
  /// The groups of functions that are chosen for it.
  std::uint32_t groups = 0;
  /// Whether its memory is there; a module may have been unmapped behind the loader's back.
  bool is_mapped = true;
  bool has_imports = false;
  /// Slots of chosen functions: that lead to a handler now,
  std::uint32_t hooked = 0;
  /// that lead elsewhere than the function, to another allocator or another tool's handler,
  std::uint32_t foreign = 0;
  /// of a module that another thread is opening,
  std::uint32_t unfinished = 0;
  /// and that could not be written.
  std::uint32_t refused = 0;
};

/// A function that some module imports, and nobody knows where it is.
struct MissingOriginal {
  PltTarget* target = nullptr;
  /// The module's name for the loader.
  std::string_view importer;
  /// Once it was looked for; 0 where that module does not see it either.
  std::uintptr_t original = 0;
};

/// Hooks, restores or counts the slots of all modules. To be used once, behind the control lock.
///
/// A slot is only written where it holds what the function is known by, or the module's own stub
/// that binds it on the first call: a module is listed before its slots are filled, and may have an
/// allocator of its own. Sources: glibc's elf/dl-object.c and
/// elf/dl-reloc.c.
class PltPass {
 public:
  PltPass(PltState& state, PltAction action) noexcept : state_(state), action_(action) {}

  void run() noexcept;

  [[nodiscard]] const ArenaArray<PltModule>& modules() const noexcept { return modules_; }
  /// Those that no pattern was asked for yet; nothing was done with them.
  [[nodiscard]] const ArenaArray<PltModule>& unknown() const noexcept { return unknown_; }
  [[nodiscard]] const ArenaArray<MissingOriginal>& missing() const noexcept { return missing_; }

 private:
  void visit(const os::LoadedImage& image) noexcept;

  /// The names are the loader's and this walk's: copies stay.
  void note(PltModule module, ArenaArray<PltModule>& modules) noexcept;

  /// A module that slots of are looked at has been asked patterns for: its name is kept.
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

  /// Until the loader has filled it, a slot holds what stands in the file: an offset.
  [[nodiscard]] bool is_code(std::uintptr_t value) const noexcept {
    const os::MemoryRegion* region = regions_.find(value);
    return region != nullptr && region->executable;
  }

  /// The loader write-protects these pages last of all. It might do so while they are written.
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
