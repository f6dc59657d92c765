/// The memory that a loaded module says is its own.
#pragma once

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace alloctap::elf {

/// The PT_LOAD segments of one module. What asks here before it reads never reads outside of them;
/// that they are mapped is the caller's affair. Does not own `segments`. Runs anywhere.
class LoadedMemory {
 public:
  LoadedMemory(std::uintptr_t bias, std::span<const ElfW(Phdr)> segments) noexcept
      : bias_(bias), segments_(segments) {}

  [[nodiscard]] std::uintptr_t bias() const noexcept { return bias_; }
  [[nodiscard]] std::span<const ElfW(Phdr)> segments() const noexcept { return segments_; }

  /// One past the last byte that may be read from `address` on, `rights` (PF_...) being allowed;
  /// `address` itself where nothing may.
  [[nodiscard]] std::uintptr_t end_of(std::uintptr_t address,
                                      ElfW(Word) rights = PF_R) const noexcept {
    for (const auto& segment : segments_) {
      const std::uintptr_t offset = address - bias_ - segment.p_vaddr;
      const bool allowed = segment.p_type == PT_LOAD && (segment.p_flags & rights) == rights;
      // A segment that reaches around the end of the address space is a lie.
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

  /// `count` elements at `address`; none where they are not all inside, or not aligned.
  template <class T>
  [[nodiscard]] std::span<const T> array(std::uintptr_t address, std::uint64_t count) const {
    const std::uint64_t fitting = (end_of(address) - address) / sizeof(T);
    if (count > fitting || address % alignof(T) != 0) return {};
    return {reinterpret_cast<const T*>(address), count};
  }

  /// As many elements as there are from `address` to the end of its segment.
  template <class T>
  [[nodiscard]] std::span<const T> rest(std::uintptr_t address) const {
    return array<T>(address, (end_of(address) - address) / sizeof(T));
  }

 private:
  std::uintptr_t bias_;
  std::span<const ElfW(Phdr)> segments_;
};

}  // namespace alloctap::elf
