/// A parser of an ELF module's dynamic section.
#pragma once

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/elf/android_relocations.hpp"
#include "alloctap/elf/loaded_memory.hpp"

namespace alloctap::elf {

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
  /// In the packed format of `android_relocations.hpp`.
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

}  // namespace alloctap::elf
