/// Where the modules of this process keep the slots of annotate.h, in the format that modules of
/// this system have.
///
/// `native::visit_annotation_slots(visit)` calls `visit(alloctap_slots&)` for those of each module,
/// with the loader's lock held. Control plane; never inside malloc.
/// `native::visit_annotation_slots_of(address, visit)` does for the module at `address`, where the
/// loader gives notice of it.
#pragma once

#include <cstdint>

#if defined(_WIN32)
#include "alloctap/os/windows/loader_modules.hpp"
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
