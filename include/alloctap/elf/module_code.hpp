/// Whether an address is in a module's code, and whether that code requires landing pads (BTI).
#pragma once

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "alloctap/elf/mapped_image.hpp"
#include "alloctap/os/module_symbols.hpp"

namespace alloctap::elf {

/// Returns whether `address` is in an executable segment of a module. Makes no system call if the
/// loader has a table of modules (glibc 2.35 and newer). Runs inside malloc. May change errno.
[[nodiscard]] inline bool is_module_code(std::uintptr_t address) noexcept {
  constexpr std::size_t kPage = 4096;
  const os::LoadedModule module = os::find_module(address);
  if (module.start == 0) return false;
  const std::span file(reinterpret_cast<const std::byte*>(module.start),
                       std::min(kPage, module.end - module.start));
  const auto image = read_mapped_image(file, module.start);
  return image && LoadedMemory(image->bias, find_segments(file)).holds(address, 1, PF_X);
}

/// Returns whether `notes`, a PT_GNU_PROPERTY segment, declare BTI (ELF for the Arm 64-bit
/// Architecture, "Program Property"; Linux ABI gABI extensions, ".note.gnu.property"). Reads only
/// inside `notes`.
inline bool promises_landing_pads(std::span<const std::byte> notes) noexcept {
  constexpr std::uint32_t kFeatures = 0xC0000000;
  constexpr std::uint32_t kLandingPads = 1;
  constexpr std::size_t kHeaderBytes = sizeof(ElfW(Nhdr)) + sizeof ELF_NOTE_GNU;
  const auto word = [&](std::size_t offset) {
    std::uint32_t value = 0;
    if (lies_inside(notes, offset, sizeof value)) {
      std::memcpy(&value, notes.data() + offset, sizeof value);
    }
    return value;
  };
  // A property is a type, a length and as many bytes, padded to a multiple of 8.
  for (std::size_t at = kHeaderBytes; lies_inside(notes, at, 3 * sizeof(std::uint32_t));) {
    if (word(at) == kFeatures) return (word(at + 8) & kLandingPads) != 0;
    at += 8 + ((std::size_t{word(at + 4)} + 7) & ~std::size_t{7});
  }
  return false;
}

/// Returns whether the module that contains `address` declares BTI, so that the loader maps the
/// module's code pages with branch target checks. Returns false for pages that the program mapped
/// itself, because no system call reports them. Takes no lock, allocates nothing.
inline bool has_guarded_code([[maybe_unused]] std::uintptr_t address) noexcept {
#if defined(__aarch64__)
  constexpr std::size_t kSmallestPage = 4096;
  constexpr std::uint32_t kPropertySegment = 0x6474E553;
  const os::LoadedModule module = os::find_module(address);
  if (module.start == 0) return false;
  const std::span file(reinterpret_cast<const std::byte*>(module.start), kSmallestPage);
  const auto image = read_mapped_image(file, module.start);
  for (const auto& segment : find_segments(file)) {
    if (!image || segment.p_type != kPropertySegment) continue;
    const auto* notes = reinterpret_cast<const std::byte*>(image->bias + segment.p_vaddr);
    return promises_landing_pads({notes, segment.p_memsz});
  }
#endif
  return false;
}

}  // namespace alloctap::elf
