/// An iterator over the words of a module that the loader fills with symbol addresses.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <span>

#include "alloctap/arch/relocation_kinds.hpp"
#include "alloctap/elf/android_relocations.hpp"
#include "alloctap/elf/dynamic_section.hpp"
#include "alloctap/elf/loaded_memory.hpp"

namespace alloctap::elf {

enum class SlotKind : std::uint8_t {
  /// A jump slot of the PLT, which the loader may bind at the first call.
  kJumpSlot,
  /// An entry of the global offset table, from which code loads addresses of data and, with
  /// -fno-plt, of functions to call.
  kGlobalData,
  /// A word of data, such as `auto* function = &malloc` at namespace scope.
  kAbsolute,
};

/// One word that the loader fills with the address of a symbol.
struct SymbolSlot {
  /// Aligned, in a segment that is writable or was until relocation ended (RELRO).
  std::uintptr_t address = 0;
  /// The symbol's name: NUL-terminated, in the module's memory.
  const char* name = nullptr;
  const ElfW(Sym) * symbol = nullptr;
  SlotKind kind = SlotKind::kJumpSlot;
  /// The index of a jump slot among the module's jump slots.
  std::uint32_t number = 0;
};

/// A pass over the relocations of one module.
template <class Visit>
class SymbolSlotWalk {
 public:
  SymbolSlotWalk(const LoadedMemory& memory, const DynamicSection& section, Visit& visit) noexcept
      : memory_(memory), section_(section), visit_(visit) {}

  void run() noexcept {
    walk(section_.jump_slots_rela);
    walk(section_.jump_slots_rel);
    walk(section_.rela);
    walk(section_.rel);
    walk_packed(section_.android_rela, [this](const ElfW(Rela) & found) { visit(found, 0); });
    walk_packed(section_.android_rel, [this](const ElfW(Rela) & found) {
      visit(ElfW(Rel){.r_offset = found.r_offset, .r_info = found.r_info}, 0);
    });
  }

 private:
  static std::int64_t addend(const ElfW(Rela) & relocation) noexcept { return relocation.r_addend; }
  /// In REL tables, the loader has overwritten the addend in the word. Returns a nonzero addend for
  /// absolute words to skip them, because the table does not show which absolute words had an
  /// addend. The relevant REL formats use the other kinds for functions.
  static std::int64_t addend(const ElfW(Rel) & relocation) noexcept {
    return kind_number(relocation.r_info) == arch::RelocationKinds::kAbsolute ? 1 : 0;
  }

  static std::uint32_t kind_number(std::uint64_t info) noexcept {
    return static_cast<std::uint32_t>(sizeof(void*) == 8 ? ELF64_R_TYPE(info) : ELF32_R_TYPE(info));
  }
  static std::uint64_t symbol_number(std::uint64_t info) noexcept {
    return sizeof(void*) == 8 ? ELF64_R_SYM(info) : ELF32_R_SYM(info);
  }

  static bool find_kind(std::uint32_t number, SlotKind& kind) noexcept {
    using Kinds = arch::RelocationKinds;
    if (number == Kinds::kJumpSlot) {
      kind = SlotKind::kJumpSlot;
    } else if (number == Kinds::kGlobalData) {
      kind = SlotKind::kGlobalData;
    } else if (number == Kinds::kAbsolute) {
      kind = SlotKind::kAbsolute;
    } else {
      return false;
    }
    return true;
  }

  template <class Relocation>
  void walk(std::span<const Relocation> relocations) noexcept {
    std::uint32_t number = 0;
    for (const Relocation& relocation : relocations) visit(relocation, number++);
  }

  template <class See>
  void walk_packed(std::span<const std::byte> table, See see) noexcept {
    if (!table.empty()) for_each_android_relocation(table, max_words(), see);
  }

  /// Returns the module's size in words, which limits the number of relocations.
  [[nodiscard]] std::uint64_t max_words() const noexcept {
    std::uint64_t bytes = 0;
    for (const auto& segment : memory_.segments()) {
      if (segment.p_type == PT_LOAD) bytes += segment.p_memsz;
    }
    return bytes / sizeof(std::uint32_t);
  }

  template <class Relocation>
  void visit(const Relocation& relocation, std::uint32_t number) noexcept {
    SymbolSlot slot{.number = number};
    const std::uint64_t symbol = symbol_number(relocation.r_info);
    if (!find_kind(kind_number(relocation.r_info), slot.kind) || addend(relocation) != 0) return;
    if (symbol == 0 || symbol >= section_.symbols.size()) return;
    slot.symbol = &section_.symbols[symbol];
    if (slot.symbol->st_name >= section_.names.size()) return;
    slot.name = section_.names.data() + slot.symbol->st_name;
    slot.address = memory_.bias() + relocation.r_offset;
    if (slot.address % sizeof(void*) != 0) return;
    visit_(slot);
  }

  const LoadedMemory& memory_;
  const DynamicSection& section_;
  Visit& visit_;
};

/// Calls `visit(const SymbolSlot&)` for each word that is filled with a symbol's address without an
/// addend. Takes some nanoseconds per relocation. Does not check that a slot is writable; call
/// `is_writable_slot` for the slots to be changed. Skips packed relative relocations (DT_RELR),
/// which name no symbols. Reads only inside the module's segments. Runs inside malloc.
template <class Visit>
void for_each_symbol_slot(const LoadedMemory& memory, const DynamicSection& section,
                          Visit&& visit) noexcept {
  SymbolSlotWalk<std::remove_reference_t<Visit>>(memory, section, visit).run();
}

/// Returns whether `slot` is in the module's writable memory.
inline bool is_writable_slot(const LoadedMemory& memory, const SymbolSlot& slot) noexcept {
  return memory.holds(slot.address, sizeof(void*), PF_R | PF_W);
}

}  // namespace alloctap::elf
