/// Where the modules of this process keep the slots of annotate.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/annotate.h"
#include "alloctap/os/windows/loader_modules.hpp"
#include "alloctap/pe/mapped_image.hpp"
#include "alloctap/pe/section_table.hpp"

namespace alloctap::pe {

/// Calls `visit(alloctap_slots&)` for each that lies in `section`, which the linker may have padded
/// anywhere.
template <class Visit>
void visit_slots_in(std::span<std::byte> section, Visit&& visit) noexcept {
  for (std::size_t at = 0; at + sizeof(alloctap_marked_slots) <= section.size();
       at += sizeof(std::uint64_t)) {
    auto* const marked = reinterpret_cast<alloctap_marked_slots*>(section.data() + at);
    if (marked->number == ALLOCTAP_SLOTS_NUMBER) visit(marked->slots);
  }
}

/// Calls `visit(alloctap_slots&)` for those of the module at `address`, which stays loaded.
template <class Visit>
void visit_annotation_slots_of(std::uintptr_t address, Visit&& visit) noexcept {
  constexpr std::size_t kHeaderBytes = 4096;
  auto* const start = reinterpret_cast<std::byte*>(address);
  visit_sections({start, kHeaderBytes}, [&](const SectionRow& section) {
    if (section.name == ".alctap") visit_slots_in({start + section.begin, section.bytes}, visit);
  });
}

/// The same of each module, with the loader's lock held. Control plane; never inside malloc.
template <class Visit>
void visit_annotation_slots(Visit&& visit) noexcept {
  os::visit_loader_modules(
      [&](const os::LoaderModule& module) { visit_annotation_slots_of(module.start, visit); });
}

}  // namespace alloctap::pe
