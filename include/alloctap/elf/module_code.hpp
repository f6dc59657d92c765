/// Whether an address lies in the code of a module.
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

/// By the program headers of the module that holds `address`. Asks the system for nothing where the
/// loader has a table of modules (glibc 2.35 and newer). Runs anywhere. errno may change.
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
