/// Checks whether an address is in a module's code.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/elf/loaded_memory.hpp"
#include "alloctap/elf/mapped_image.hpp"
#include "alloctap/os/find_module.hpp"

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

}  // namespace alloctap::elf
