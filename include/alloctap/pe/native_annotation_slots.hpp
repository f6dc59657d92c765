/// Finds the slots (function pointer tables) of annotate.h in loaded modules (ELF or PE).
///
/// `native::visit_annotation_slots(visit)` calls `visit(alloctap_slots&)` for each module's slots,
/// with the loader's lock held. Control plane; never inside malloc.
/// `native::visit_annotation_slots_of(address, visit)` visits the slots of the module at `address`.
/// That function does nothing on systems whose loader does not report the modules it loads.
#pragma once

#include <cstdint>

#if defined(_WIN32)
#include "alloctap/os/windows/module_symbols.hpp"
#include "alloctap/pe/annotation_slots.hpp"
namespace alloctap::native {
using pe::visit_annotation_slots_of;
static_assert(pe::kSlotsNumber == ALLOCTAP_SLOTS_NUMBER &&
              sizeof(pe::MarkedSlots) == sizeof(alloctap_marked_slots));
template <class Visit>
void visit_annotation_slots(Visit&& visit) noexcept {
  os::visit_loader_modules(
      [&](const os::LoaderModule& module) { pe::visit_annotation_slots_of(module.start, visit); });
}
}  // namespace alloctap::native
#else
#include "alloctap/elf/annotation_slots.hpp"
namespace alloctap::native {
using elf::visit_annotation_slots;
template <class Visit>
void visit_annotation_slots_of(std::uintptr_t, Visit&&) noexcept {}
}  // namespace alloctap::native
#endif
