/// Definitions for elf/annotation_slots.hpp.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "alloctap/elf/annotation_slots.hpp"
#include "alloctap/macros.hpp"

namespace alloctap::elf {

ALLOCTAP_INLINE alloctap_slots* find_annotation_slots(std::span<const std::byte> notes) noexcept {
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
      // `offset` is negative, so the sum wraps, if the slots lie below the note.
      const auto offset = static_cast<std::uintptr_t>(std::intptr_t{distance});
      return reinterpret_cast<alloctap_slots*>(place + offset);
    }
    notes = notes.subspan(next);
  }
  return nullptr;
}

}  // namespace alloctap::elf
