/// Where the modules of this process keep the slots of annotate.h.
#pragma once

#include <link.h>

#include <cstddef>
#include <span>

#include "alloctap/annotate.h"
#include "alloctap/os/loaded_images.hpp"

namespace alloctap::elf {

/// The slots to which `notes`, a PT_NOTE segment in memory, leads; nullptr if it has no such note.
/// Reads only inside `notes` (ELF gABI, "Note Section").
alloctap_slots* find_annotation_slots(std::span<const std::byte> notes) noexcept;

/// Calls `visit(alloctap_slots&)` for those of each module, with the loader's lock held. Control
/// plane; never inside malloc.
template <class Visit>
void visit_annotation_slots(Visit&& visit) noexcept {
  os::visit_loaded_images([&](const os::LoadedImage& image) {
    for (const auto& segment : image.segments) {
      if (segment.p_type != PT_NOTE) continue;
      const auto* notes = reinterpret_cast<const std::byte*>(image.bias + segment.p_vaddr);
      if (alloctap_slots* slots = find_annotation_slots({notes, segment.p_memsz})) visit(*slots);
    }
  });
}

}  // namespace alloctap::elf

#ifndef ALLOCTAP_COMPILED
#include "alloctap/elf/impl/annotation_slots.hpp"
#endif
