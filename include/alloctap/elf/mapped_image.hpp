/// What an ELF file says of itself where it is mapped.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace alloctap::elf {

/// A module in memory. Addresses in the file plus `bias` are addresses in the process.
struct MappedImage {
  std::uintptr_t bias = 0;
  /// One past the last byte that the module occupies.
  std::uintptr_t end = 0;
  /// The GNU build-id, inside the bytes that were read; empty where they have none.
  std::span<const std::byte> build_id;
};

/// The description of the GNU build-id note in `notes`, a PT_NOTE segment (ELF gABI, "Note
/// Section"; names and descriptions are padded to 4 bytes).
std::span<const std::byte> find_build_id(std::span<const std::byte> notes) noexcept;

/// Whether `[offset, offset + bytes)` is a part of `file`.
constexpr bool lies_inside(std::span<const std::byte> file, std::uint64_t offset,
                           std::uint64_t bytes) noexcept {
  return offset <= file.size() && bytes <= file.size() - offset;
}

/// The program headers; none where `file` is no ELF file of this class, or they are not in it.
std::span<const ElfW(Phdr)> find_segments(std::span<const std::byte> file) noexcept;

/// What `file`, the start of an ELF file, says of the module whose first byte is mapped at `start`;
/// nothing where it is no ELF file of this class. `file` is aligned to 8. Reads only inside `file`;
/// runs anywhere.
std::optional<MappedImage> read_mapped_image(std::span<const std::byte> file,
                                             std::uintptr_t start) noexcept;

}  // namespace alloctap::elf

#ifndef ALLOCTAP_COMPILED
#include "alloctap/elf/impl/mapped_image.hpp"
#endif
