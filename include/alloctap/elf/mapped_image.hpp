/// A parser of the ELF headers of a mapped module, and a bounds checker for its segments.
#pragma once

#include <elf.h>
#include <link.h>

#include <algorithm>
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

/// The PT_LOAD segments of one module, which validate addresses before they are read. The caller
/// ensures that the segments are mapped. Does not own `segments`. Runs inside malloc.
class LoadedMemory {
 public:
  LoadedMemory(std::uintptr_t bias, std::span<const ElfW(Phdr)> segments) noexcept
      : bias_(bias), segments_(segments) {}

  [[nodiscard]] std::uintptr_t bias() const noexcept { return bias_; }
  [[nodiscard]] std::span<const ElfW(Phdr)> segments() const noexcept { return segments_; }

  /// Returns the end of the segment that contains `address` and has all `rights` (PF_...). Returns
  /// `address` if no segment does.
  [[nodiscard]] std::uintptr_t end_of(std::uintptr_t address,
                                      ElfW(Word) rights = PF_R) const noexcept {
    for (const auto& segment : segments_) {
      const std::uintptr_t offset = address - bias_ - segment.p_vaddr;
      const bool allowed = segment.p_type == PT_LOAD && (segment.p_flags & rights) == rights;
      // Rejects segments that wrap around the address space.
      const std::uintptr_t rest = ~std::uintptr_t{0} - (bias_ + segment.p_vaddr);
      if (!allowed || offset >= segment.p_memsz || segment.p_memsz > rest) continue;
      return address + (segment.p_memsz - offset);
    }
    return address;
  }

  [[nodiscard]] bool holds(std::uintptr_t address, std::uint64_t bytes,
                           ElfW(Word) rights = PF_R) const noexcept {
    return bytes <= end_of(address, rights) - address;
  }

  /// Returns `count` elements at `address`, or an empty span if out of bounds or misaligned.
  template <class T>
  [[nodiscard]] std::span<const T> array(std::uintptr_t address, std::uint64_t count) const {
    const std::uint64_t fitting = (end_of(address) - address) / sizeof(T);
    if (count > fitting || address % alignof(T) != 0) return {};
    return {reinterpret_cast<const T*>(address), count};
  }

  /// Returns all elements from `address` to the segment's end.
  template <class T>
  [[nodiscard]] std::span<const T> rest(std::uintptr_t address) const {
    return array<T>(address, (end_of(address) - address) / sizeof(T));
  }

 private:
  std::uintptr_t bias_;
  std::span<const ElfW(Phdr)> segments_;
};

}  // namespace alloctap::elf

#ifndef ALLOCTAP_COMPILED
#include "alloctap/elf/impl/mapped_image.hpp"
#endif
