/// Definitions for elf/mapped_image.hpp.
#pragma once

#include <cstring>

#include "alloctap/elf/mapped_image.hpp"
#include "alloctap/macros.hpp"

namespace alloctap::elf {

ALLOCTAP_INLINE std::span<const std::byte> find_build_id(
    std::span<const std::byte> notes) noexcept {
  const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
  while (notes.size() > sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof note);
    const std::size_t name = sizeof note;
    const std::size_t description = name + padded(note.n_namesz);
    const std::size_t next = description + padded(note.n_descsz);
    if (next > notes.size()) break;
    const bool is_gnu = note.n_namesz == sizeof ELF_NOTE_GNU &&
                        std::memcmp(notes.data() + name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0;
    if (is_gnu && note.n_type == NT_GNU_BUILD_ID) return notes.subspan(description, note.n_descsz);
    notes = notes.subspan(next);
  }
  return {};
}

ALLOCTAP_INLINE std::span<const ElfW(Phdr)> find_segments(
    std::span<const std::byte> file) noexcept {
  if (file.size() < sizeof(ElfW(Ehdr))) return {};
  const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(file.data());
  constexpr unsigned char kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  const bool is_elf = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                      header.e_ident[EI_CLASS] == kClass &&
                      header.e_phentsize == sizeof(ElfW(Phdr));
  const std::size_t bytes = std::size_t{header.e_phnum} * sizeof(ElfW(Phdr));
  if (!is_elf || header.e_phoff % alignof(ElfW(Phdr)) != 0 ||
      !lies_inside(file, header.e_phoff, bytes)) {
    return {};
  }
  return {reinterpret_cast<const ElfW(Phdr)*>(file.data() + header.e_phoff), header.e_phnum};
}

ALLOCTAP_INLINE std::optional<MappedImage> read_mapped_image(std::span<const std::byte> file,
                                                             std::uintptr_t start) noexcept {
  const auto segments = find_segments(file);
  const auto is_load = [](const ElfW(Phdr) & segment) { return segment.p_type == PT_LOAD; };
  const auto first = std::find_if(segments.begin(), segments.end(), is_load);
  if (first == segments.end()) return std::nullopt;

  MappedImage image;
  image.bias = start - (first->p_vaddr - first->p_offset);
  for (const auto& segment : segments) {
    if (is_load(segment)) {
      image.end = std::max(image.end, image.bias + segment.p_vaddr + segment.p_memsz);
    }
    const bool inside = lies_inside(file, segment.p_offset, segment.p_filesz);
    if (segment.p_type == PT_NOTE && inside && image.build_id.empty()) {
      image.build_id = find_build_id(file.subspan(segment.p_offset, segment.p_filesz));
    }
  }
  return image;
}

}  // namespace alloctap::elf
