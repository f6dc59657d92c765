/// The words of a module that hold symbol addresses, from its dynamic section and relocations.
#pragma once

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "alloctap/arch/relocation_kinds.hpp"
#include "alloctap/elf/byte_reader.hpp"
#include "alloctap/elf/mapped_image.hpp"

namespace alloctap::elf {

/// Dynamic section tags with the address and size of APS2 tables, Android's packed relocations
/// (llvm/BinaryFormat/DynamicTags.def).
struct AndroidTags {
  static constexpr ElfW(Sxword) kRel = 0x6000000f;
  static constexpr ElfW(Sxword) kRelBytes = 0x60000010;
  static constexpr ElfW(Sxword) kRela = 0x60000011;
  static constexpr ElfW(Sxword) kRelaBytes = 0x60000012;
};

/// A decoder of one APS2 table, as `ld.lld --pack-dyn-relocs=android` writes and bionic loads it.
/// See bionic, linker/linker_reloc_iterators.h; lld, ELF/SyntheticSections.cpp,
/// AndroidPackedRelocationSection. After the letters "APS2", the table consists of signed LEB128
/// numbers. The first two are the number of relocations and the initial offset. Groups of
/// relocations follow. A group begins with a relocation count, and flags for the fields that all
/// relocations in the group share. Offsets and addends are deltas from the previous relocation.
template <class Visit>
class AndroidRelocationWalk {
 public:
  AndroidRelocationWalk(std::span<const std::byte> table, std::uint64_t most, Visit& visit) noexcept
      : reader_(table), left_(most), visit_(visit) {}

  void run() noexcept {
    static constexpr char kMagic[] = {'A', 'P', 'S', '2'};
    const auto magic = reader_.read_bytes(sizeof kMagic);
    if (magic.empty() || std::memcmp(magic.data(), kMagic, sizeof kMagic) != 0) return;
    const std::uint64_t count = read();
    if (count > left_) return;
    left_ = count;
    now_.r_offset = read();
    while (left_ > 0 && read_group()) {
    }
  }

 private:
  enum Flags : std::uint64_t { kSameInfo = 1, kSameDelta = 2, kSameAddend = 4, kHasAddend = 8 };

  /// Returns false if the table is malformed.
  bool read_group() noexcept {
    const std::uint64_t size = read();
    flags_ = read();
    if ((flags_ & kSameDelta) != 0) delta_ = read();
    if ((flags_ & kSameInfo) != 0) now_.r_info = read();
    if ((flags_ & kHasAddend) == 0) {
      now_.r_addend = 0;
    } else if ((flags_ & kSameAddend) != 0) {
      add_to_addend(read());
    }
    if (!reader_.ok() || size == 0 || size > left_) return false;
    left_ -= size;
    for (std::uint64_t i = 0; i < size; ++i) {
      if (!read_relocation()) return false;
    }
    return true;
  }

  bool read_relocation() noexcept {
    now_.r_offset += (flags_ & kSameDelta) != 0 ? delta_ : read();
    if ((flags_ & kSameInfo) == 0) now_.r_info = read();
    if ((flags_ & (kHasAddend | kSameAddend)) == kHasAddend) add_to_addend(read());
    if (reader_.ok()) visit_(now_);
    return reader_.ok();
  }

  std::uint64_t read() noexcept { return static_cast<std::uint64_t>(reader_.read_sleb128()); }

  /// Adds modulo 2^64, as bionic's linker does.
  void add_to_addend(std::uint64_t difference) noexcept {
    now_.r_addend = static_cast<decltype(now_.r_addend)>(static_cast<std::uint64_t>(now_.r_addend) +
                                                         difference);
  }

  ByteReader reader_;
  std::uint64_t left_;
  Visit& visit_;
  std::uint64_t flags_ = 0;
  std::uint64_t delta_ = 0;
  ElfW(Rela) now_ {};
};

/// Calls `visit(const ElfW(Rela)&)` for each relocation of `table`, up to the first error. Makes no
/// call if the table claims more than `most` relocations, because a malformed table can claim any
/// number. REL tables have no addends. Reads only inside `table`. Runs inside malloc.
template <class Visit>
void for_each_android_relocation(std::span<const std::byte> table, std::uint64_t most,
                                 Visit&& visit) noexcept {
  AndroidRelocationWalk<std::remove_reference_t<Visit>>(table, most, visit).run();
}

/// The tables that PT_DYNAMIC refers to (ELF gABI, "Dynamic Section"). A table that is not inside
/// the module's segments is empty.
struct DynamicSection {
  /// Extends to the segment's end, because no tag states the number of symbols.
  std::span<const ElfW(Sym)> symbols;
  /// Ends in NUL, so that the string at any offset is terminated.
  std::string_view names;
  std::span<const ElfW(Rela)> jump_slots_rela;
  std::span<const ElfW(Rel)> jump_slots_rel;
  std::span<const ElfW(Rela)> rela;
  std::span<const ElfW(Rel)> rel;
  /// In the packed format of `AndroidRelocationWalk`.
  std::span<const std::byte> android_rela;
  std::span<const std::byte> android_rel;
};

/// The raw values of the tags that `read_dynamic_section` needs.
struct DynamicEntries {
  std::uintptr_t symbols = 0;
  std::uintptr_t names = 0;
  std::uint64_t names_bytes = 0;
  std::uint64_t symbol_bytes = sizeof(ElfW(Sym));
  std::uintptr_t jump_slots = 0;
  std::uint64_t jump_slots_bytes = 0;
  std::uint64_t jump_slots_kind = 0;
  std::uintptr_t rela = 0;
  std::uint64_t rela_bytes = 0;
  std::uint64_t relative_rela = 0;
  std::uintptr_t rel = 0;
  std::uint64_t rel_bytes = 0;
  std::uintptr_t android_rela = 0;
  std::uint64_t android_rela_bytes = 0;
  std::uintptr_t android_rel = 0;
  std::uint64_t android_rel_bytes = 0;

  void take(const ElfW(Dyn) & entry) noexcept {
    const auto value = entry.d_un.d_val;
    switch (entry.d_tag) {
      case DT_SYMTAB:
        symbols = value;
        break;
      case DT_STRTAB:
        names = value;
        break;
      case DT_STRSZ:
        names_bytes = value;
        break;
      case DT_SYMENT:
        symbol_bytes = value;
        break;
      case DT_JMPREL:
        jump_slots = value;
        break;
      case DT_PLTRELSZ:
        jump_slots_bytes = value;
        break;
      case DT_PLTREL:
        jump_slots_kind = value;
        break;
      case DT_RELA:
        rela = value;
        break;
      case DT_RELASZ:
        rela_bytes = value;
        break;
      case DT_RELACOUNT:
        relative_rela = value;
        break;
      case DT_REL:
        rel = value;
        break;
      case DT_RELSZ:
        rel_bytes = value;
        break;
      default:
        take_android(entry);
    }
  }

 private:
  void take_android(const ElfW(Dyn) & entry) noexcept {
    const auto value = entry.d_un.d_val;
    if (entry.d_tag == AndroidTags::kRela) android_rela = value;
    if (entry.d_tag == AndroidTags::kRelaBytes) android_rela_bytes = value;
    if (entry.d_tag == AndroidTags::kRel) android_rel = value;
    if (entry.d_tag == AndroidTags::kRelBytes) android_rel_bytes = value;
  }
};

/// Returns the address of a table from the `value` of a dynamic section entry. glibc adds the bias
/// to the entries on load, but musl and the vDSO keep the file's values. Executables that are not
/// position-independent have bias 0.
constexpr std::uintptr_t dynamic_address(std::uintptr_t value, std::uintptr_t bias) noexcept {
  return value < bias ? value + bias : value;
}

/// Parses the dynamic section of `memory`. Returns nullopt if the module has no dynamic section (a
/// static executable) or no string table. Reads only inside the segments. Runs inside malloc.
inline std::optional<DynamicSection> read_dynamic_section(const LoadedMemory& memory) noexcept {
  const auto segments = memory.segments();
  const auto found = std::find_if(segments.begin(), segments.end(),
                                  [](const auto& segment) { return segment.p_type == PT_DYNAMIC; });
  if (found == segments.end()) return std::nullopt;
  DynamicEntries entries;
  const std::uint64_t count = found->p_memsz / sizeof(ElfW(Dyn));
  for (const auto& entry : memory.array<ElfW(Dyn)>(memory.bias() + found->p_vaddr, count)) {
    if (entry.d_tag == DT_NULL) break;
    entries.take(entry);
  }

  const auto at = [&memory](std::uintptr_t value) { return dynamic_address(value, memory.bias()); };
  const auto names = memory.array<char>(at(entries.names), entries.names_bytes);
  if (names.empty() || entries.symbol_bytes != sizeof(ElfW(Sym))) return std::nullopt;
  const std::string_view text(names.data(), names.size());
  DynamicSection section;
  section.names = text.substr(0, text.rfind('\0') + 1);
  section.symbols = memory.rest<ElfW(Sym)>(at(entries.symbols));
  if (entries.jump_slots_kind == DT_REL) {
    section.jump_slots_rel = memory.array<ElfW(Rel)>(at(entries.jump_slots),
                                                     entries.jump_slots_bytes / sizeof(ElfW(Rel)));
  } else {
    section.jump_slots_rela = memory.array<ElfW(Rela)>(
        at(entries.jump_slots), entries.jump_slots_bytes / sizeof(ElfW(Rela)));
  }
  section.rela =
      memory.array<ElfW(Rela)>(at(entries.rela), entries.rela_bytes / sizeof(ElfW(Rela)));
  // Skips the relative relocations, which come first, are the majority and name no symbol.
  section.rela =
      section.rela.subspan(std::min<std::uint64_t>(section.rela.size(), entries.relative_rela));
  section.rel = memory.array<ElfW(Rel)>(at(entries.rel), entries.rel_bytes / sizeof(ElfW(Rel)));
  section.android_rela =
      memory.array<std::byte>(at(entries.android_rela), entries.android_rela_bytes);
  section.android_rel = memory.array<std::byte>(at(entries.android_rel), entries.android_rel_bytes);
  return section;
}

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
  /// Returns a nonzero addend for absolute words, so that they are skipped: the loader has
  /// overwritten the addend in the word, and a REL table does not show which absolute words had
  /// one. The relevant REL formats use the other kinds for functions.
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
