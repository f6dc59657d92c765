/// Definitions for hook/plt/pass.hpp.
#pragma once

#include <string>
#include <utility>

#include "alloctap/hook/plt/pass.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE const ChosenModule* ChosenModules::find(std::string_view path,
                                                        std::string_view name) const noexcept {
  const std::size_t hash = ChosenModules::hash(path, name);
  const auto* found = std::find_if(modules_.begin(), modules_.end(), [&](const auto& module) {
    return module.hash == hash && module.path == path && module.name == name;
  });
  return found == modules_.end() ? nullptr : found;
}

ALLOCTAP_INLINE std::uintptr_t PltState::previous(std::uintptr_t address) const noexcept {
  const auto* slot = std::lower_bound(
      hooked.begin(), hooked.end(), address,
      [](const HookedSlot& other, std::uintptr_t value) { return other.address < value; });
  return slot == hooked.end() || slot->address != address ? 0 : slot->previous;
}

ALLOCTAP_INLINE std::uint32_t PltState::groups_of(std::string_view path,
                                                  std::string_view name) const {
  std::uint32_t groups = group_bit(kLoaderGroup);
  const std::string path_text(path);
  const std::string name_text(name);
  for (std::size_t i = 0; i < selections.size(); ++i) {
    if (selections[i]->selects(path_text, name_text)) {
      groups |= group_bit(static_cast<std::uint32_t>(i));
    }
  }
  return groups;
}

ALLOCTAP_INLINE bool SlotWriter::unprotect(const os::MemoryRegion& region, std::uintptr_t start,
                                           std::size_t bytes) noexcept {
  return os::protect_pages(
      start, bytes,
      {.readable = region.readable, .writable = true, .executable = region.executable});
}

ALLOCTAP_INLINE bool SlotWriter::exchange(const SlotStore& store) noexcept {
  std::uintptr_t expected = store.expected;
  return std::atomic_ref(*reinterpret_cast<std::uintptr_t*>(store.address))
      .compare_exchange_strong(expected, store.desired, std::memory_order_acq_rel);
}

ALLOCTAP_INLINE void PltPass::run() noexcept {
  os::visit_loaded_images([this](const os::LoadedImage& image) { visit(image); });
  if (action_ != PltAction::kHook) return;
  std::sort(hooked_.begin(), hooked_.end(),
            [](const HookedSlot& a, const HookedSlot& b) { return a.address < b.address; });
  std::swap(state_.hooked, hooked_);
}

ALLOCTAP_INLINE void PltPass::visit(const os::LoadedImage& image) noexcept {
  const elf::LoadedMemory memory(image.bias, image.segments);
  const bool is_first = std::exchange(is_first_, false);
  if (is_first) regions_ = MemoryRegions::read();
  if (is_systems(image)) return;
  PltModule module;
  module.name = is_first ? std::string_view{} : std::string_view(image.name);
  module.is_mapped = is_mapped(image);
  if (module.is_mapped) {
    if (is_left_alone(memory)) return;
    module.path = regions_.find(reinterpret_cast<std::uintptr_t>(image.segments.data()))->path;
    const ChosenModule* chosen = state_.chosen.find(module.path, module.name);
    if (chosen == nullptr && action_ != PltAction::kUnhook) return note(module, unknown_);
    module.groups = chosen == nullptr ? 0 : chosen->groups;
    walk(memory, module);
  }
  note(module, modules_);
}

ALLOCTAP_INLINE void PltPass::note(PltModule module, ArenaArray<PltModule>& modules) noexcept {
  const ChosenModule* chosen = state_.chosen.find(module.path, module.name);
  module.path = chosen != nullptr ? chosen->path : state_.names.keep(module.path);
  module.name = chosen != nullptr ? chosen->name : state_.names.keep(module.name);
  static_cast<void>(modules.push_back(module));
}

ALLOCTAP_INLINE bool PltPass::is_systems(const os::LoadedImage& image) noexcept {
  const std::uintptr_t loader = os::loader_address();
  if (loader != 0 && image.bias == loader) return true;
  return os::vdso_address() != 0 && image.bias == os::vdso_address();
}

ALLOCTAP_INLINE bool PltPass::is_left_alone(const elf::LoadedMemory& memory) const noexcept {
  return std::any_of(state_.left_alone.begin(), state_.left_alone.end(), [&](const void* code) {
    return code != nullptr && memory.holds(reinterpret_cast<std::uintptr_t>(code), 1);
  });
}

ALLOCTAP_INLINE bool PltPass::is_mapped(const os::LoadedImage& image) const noexcept {
  const auto headers = reinterpret_cast<std::uintptr_t>(image.segments.data());
  if (!regions_.is_readable(headers, image.segments.size_bytes())) return false;
  return std::all_of(image.segments.begin(), image.segments.end(), [&](const auto& segment) {
    const bool is_read = segment.p_type == PT_LOAD && (segment.p_flags & PF_R) != 0;
    return !is_read || regions_.is_readable(image.bias + segment.p_vaddr, segment.p_memsz);
  });
}

ALLOCTAP_INLINE void PltPass::walk(const elf::LoadedMemory& memory, PltModule& module) noexcept {
  const auto section = elf::read_dynamic_section(memory);
  if (!section) return;
  stores_.clear();
  elf::for_each_symbol_slot(memory, *section, [&](const elf::SymbolSlot& slot) {
    PltTarget* target = state_.targets.find(slot.name);
    if (target == nullptr || !elf::is_writable_slot(memory, slot)) return;
    module.has_imports = module.has_imports || target->group != kLoaderGroup;
    if (action_ == PltAction::kUnhook) return plan_return(slot.address, *target);
    if ((module.groups & group_bit(target->group)) != 0) plan(memory, slot, *target, module);
  });
  SlotWriter(regions_).write({stores_.data(), stores_.size()},
                             [&](const SlotStore& store, bool stored) {
                               if (action_ == PltAction::kHook) keep(store, stored, module);
                             });
}

ALLOCTAP_INLINE void PltPass::plan_return(std::uintptr_t slot, const PltTarget& target) noexcept {
  if (SlotWriter::read(slot) != target.handler) return;
  const std::uintptr_t previous = state_.previous(slot);
  static_cast<void>(
      stores_.push_back({slot, target.handler, previous != 0 ? previous : target.original}));
}

ALLOCTAP_INLINE void PltPass::plan(const elf::LoadedMemory& memory, const elf::SymbolSlot& slot,
                                   PltTarget& target, PltModule& module) noexcept {
  const std::uintptr_t value = SlotWriter::read(slot.address);
  const bool counts = target.group != kLoaderGroup;
  if (value == target.handler) {
    if (counts) ++module.hooked;
    static_cast<void>(hooked_.push_back({slot.address, state_.previous(slot.address)}));
  } else if (target.original == 0) {
    if (value != 0) static_cast<void>(missing_.push_back({&target, kept_name(module), 0}));
  } else if (!leads_to(memory, slot, value, target)) {
    if (counts && value != 0) ++(is_code(value) ? module.foreign : module.unfinished);
  } else if (is_unfinished(memory, slot.address)) {
    ++module.unfinished;
  } else if (action_ == PltAction::kHook) {
    static_cast<void>(stores_.push_back({slot.address, value, target.handler}));
  }
}

ALLOCTAP_INLINE void PltPass::keep(const SlotStore& store, bool stored,
                                   PltModule& module) noexcept {
  if (!stored) {
    ++module.refused;
    return;
  }
  if (is_of_loader(store.desired)) {
    static_cast<void>(hooked_.push_back({store.address, store.expected}));
    return;
  }
  ++module.hooked;
  static_cast<void>(hooked_.push_back({store.address, store.expected}));
}

ALLOCTAP_INLINE bool PltPass::is_of_loader(std::uintptr_t handler) noexcept {
  for (const PltTarget& target : state_.targets.all()) {
    if (target.handler == handler) return target.group == kLoaderGroup;
  }
  return false;
}

ALLOCTAP_INLINE bool PltPass::leads_to(const elf::LoadedMemory& memory, const elf::SymbolSlot& slot,
                                       std::uintptr_t value, const PltTarget& target) noexcept {
  if (value == target.original) return true;
  if (target.program_stub != 0 && value == target.program_stub) return true;
  if (slot.kind != elf::SlotKind::kJumpSlot || !memory.holds(value, 1, PF_R | PF_X)) return false;
  constexpr std::uint64_t kStubBytes = 16;
  return arch::RelocationKinds::is_lazy_stub(memory.array<std::byte>(value, kStubBytes),
                                             slot.number);
}

ALLOCTAP_INLINE bool PltPass::is_unfinished(const elf::LoadedMemory& memory,
                                            std::uintptr_t slot) const noexcept {
  const std::uintptr_t page = ~(os::page_size() - 1);
  const os::MemoryRegion* region = regions_.find(slot);
  if (region == nullptr || !region->writable) return false;
  const auto segments = memory.segments();
  return std::any_of(segments.begin(), segments.end(), [&](const auto& segment) {
    const std::uintptr_t start = memory.bias() + segment.p_vaddr;
    return segment.p_type == PT_GNU_RELRO && slot >= (start & page) &&
           slot < ((start + segment.p_memsz) & page);
  });
}

}  // namespace alloctap
