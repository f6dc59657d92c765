/// A parser of the ELF headers of a mapped module.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace alloctap::elf {

/// A module's location in memory. A virtual address in the file plus `bias` is an address in the
/// process.
struct MappedImage {
  std::uintptr_t bias = 0;
  /// One past the last byte that the module occupies.
  std::uintptr_t end = 0;
  /// The GNU build-id, a range in the parsed bytes; empty if not found there.
  std::span<const std::byte> build_id;
};

/// Returns the GNU build-id in `notes`, a PT_NOTE segment, or an empty span (ELF gABI, "Note
/// Section"; names and descriptions are padded to 4 bytes).
std::span<const std::byte> find_build_id(std::span<const std::byte> notes) noexcept;

/// Returns whether `[offset, offset + bytes)` is inside `file`.
constexpr bool lies_inside(std::span<const std::byte> file, std::uint64_t offset,
                           std::uint64_t bytes) noexcept {
  return offset <= file.size() && bytes <= file.size() - offset;
}

/// Returns the program headers. Empty if `file` is no ELF file of this process's class (32 or 64
/// bits), or does not contain the headers.
std::span<const ElfW(Phdr)> find_segments(std::span<const std::byte> file) noexcept;

/// Parses `file`, the start of the ELF file whose first byte is mapped at `start`, aligned to 8.
/// Returns nullopt if `file` is no ELF file of this process's class. Reads only inside `file`. Runs
/// inside malloc.
std::optional<MappedImage> read_mapped_image(std::span<const std::byte> file,
                                             std::uintptr_t start) noexcept;

}  // namespace alloctap::elf

#ifndef ALLOCTAP_COMPILED
#include "alloctap/elf/impl/mapped_image.hpp"
#endif
