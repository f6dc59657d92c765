/// Where the modules of this process keep the slots of annotate.h, in the format that modules of
/// this system have: `native::visit_annotation_slots(visit)`, and of one module,
/// `native::visit_annotation_slots_of(address, visit)`, where the loader gives notice of it.
#pragma once

#include <cstdint>

#if defined(_WIN32)
#include "alloctap/pe/annotation_slots.hpp"
namespace alloctap::native {
using pe::visit_annotation_slots;
using pe::visit_annotation_slots_of;
}  // namespace alloctap::native
#else
#include "alloctap/elf/annotation_slots.hpp"
namespace alloctap::native {
using elf::visit_annotation_slots;
template <class Visit>
void visit_annotation_slots_of(std::uintptr_t, Visit&&) noexcept {}
}  // namespace alloctap::native
#endif
