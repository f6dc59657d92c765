/// Where the modules of this process keep the slots of annotate.h.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "alloctap/annotate.h"
#include "alloctap/os/loaded_images.hpp"

namespace alloctap::elf {

/// The slots to which `notes`, a PT_NOTE segment in memory, leads; nullptr if it has no such note.
/// Reads only inside `notes` (ELF gABI, "Note Section").
inline alloctap_slots* find_annotation_slots(std::span<const std::byte> notes) noexcept {
  constexpr std::string_view kOwner{"alloctap", sizeof "alloctap"};
  constexpr std::uint32_t kSlotsNote = 1;
  const auto padded = [](std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; };
  while (notes.size() > sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof note);
    const std::size_t description = sizeof note + padded(note.n_namesz);
    const std::size_t next = description + padded(note.n_descsz);
    if (next > notes.size()) break;
    const std::string_view owner(reinterpret_cast<const char*>(notes.data() + sizeof note),
                                 note.n_namesz);
    std::int32_t distance = 0;
    if (owner == kOwner && note.n_type == kSlotsNote && note.n_descsz == sizeof distance) {
      std::memcpy(&distance, notes.data() + description, sizeof distance);
      const auto place = reinterpret_cast<std::uintptr_t>(notes.data()) + description;
      // Wraps around where the slots lie below.
      const auto offset = static_cast<std::uintptr_t>(std::intptr_t{distance});
      return reinterpret_cast<alloctap_slots*>(place + offset);
    }
    notes = notes.subspan(next);
  }
  return nullptr;
}

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
