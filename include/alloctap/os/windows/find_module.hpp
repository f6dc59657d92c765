/// Module lookup by VirtualQuery, because loader functions take the loader lock. An image begins at
/// the start of its allocation.
#pragma once

#include "alloctap/os/find_module.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// Returns the headers of the image at `start`, which the loader has validated ("PE Format").
inline const IMAGE_NT_HEADERS& image_headers(std::uintptr_t start) noexcept {
  const auto& dos = *reinterpret_cast<const IMAGE_DOS_HEADER*>(start);
  return *reinterpret_cast<const IMAGE_NT_HEADERS*>(start +
                                                    static_cast<std::uintptr_t>(dos.e_lfanew));
}

inline LoadedModule find_module(std::uintptr_t address) noexcept {
  MEMORY_BASIC_INFORMATION region;
  const auto* const place = reinterpret_cast<const void*>(address);
  if (::VirtualQuery(place, &region, sizeof region) == 0) return {};
  if (region.State != MEM_COMMIT || region.Type != MEM_IMAGE) return {};
  LoadedModule module{.start = reinterpret_cast<std::uintptr_t>(region.AllocationBase)};
  const auto& optional = image_headers(module.start).OptionalHeader;
  module.end = module.start + optional.SizeOfImage;
  const auto& tables = optional.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXCEPTION];
  if (tables.Size != 0) module.unwind_tables = module.start + tables.VirtualAddress;
  return module;
}

}  // namespace alloctap::os
