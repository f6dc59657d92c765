/// Finds the slots (function pointer tables) of annotate.h in loaded PE modules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/annotate.h"
#include "alloctap/pe/mapped_image.hpp"

namespace alloctap::pe {

/// The layout of annotate.h's `alloctap_marked_slots`, which exists only on Windows.
struct MarkedSlots {
  std::uint64_t number;
  alloctap_slots slots;
};
inline constexpr std::uint64_t kSlotsNumber = 0x746F6C737061746C;

/// Calls `visit(alloctap_slots&)` for each `MarkedSlots` in `section`. Checks every word, because
/// the linker may have inserted padding words anywhere.
template <class Visit>
void visit_slots_in(std::span<std::byte> section, Visit&& visit) noexcept {
  for (std::size_t at = 0; at + sizeof(MarkedSlots) <= section.size();
       at += sizeof(std::uint64_t)) {
    auto* const marked = reinterpret_cast<MarkedSlots*>(section.data() + at);
    if (marked->number == kSlotsNumber) visit(marked->slots);
  }
}

/// Calls `visit(alloctap_slots&)` for the slots of the module whose first byte is at `address`. The
/// module must stay loaded. Reads only its headers and its section .alctap. Takes no lock,
/// allocates nothing.
template <class Visit>
void visit_annotation_slots_of(std::uintptr_t address, Visit&& visit) noexcept {
  constexpr std::size_t kHeaderBytes = 4096;
  auto* const start = reinterpret_cast<std::byte*>(address);
  visit_sections({start, kHeaderBytes}, [&](const SectionRow& section) {
    if (section.name == ".alctap") visit_slots_in({start + section.begin, section.bytes}, visit);
  });
}

}  // namespace alloctap::pe
