/// A bounds checker for a loaded module's memory.
#pragma once

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace alloctap::elf {

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
