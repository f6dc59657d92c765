/// Finds the slots (function pointer tables) of annotate.h in loaded ELF modules.
#pragma once

#include <link.h>

#include <cstddef>
#include <span>

#include "alloctap/annotate.h"
#include "alloctap/os/loaded_images.hpp"

namespace alloctap::elf {

/// Returns the slots that a note in `notes`, a PT_NOTE segment in memory, points at. Returns
/// nullptr if no note points at slots. Reads only inside `notes` (ELF gABI, "Note Section").
alloctap_slots* find_annotation_slots(std::span<const std::byte> notes) noexcept;

/// Calls `visit(alloctap_slots&)` for each module's slots, with the loader's lock held. Control
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
