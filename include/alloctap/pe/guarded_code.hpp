/// Code in which calls through pointers must lead to functions that the system has listed.
///
/// Control Flow Guard ("PE Format", DllCharacteristics): a module that was built with it calls
/// through a check of the target. The list is the system's, by page; a page that becomes executable
/// has all of its places listed, unless one says that the list is to stay
/// (os/memory_protection.hpp).
#pragma once

#include <cstdint>

#include "alloctap/os/find_module.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::pe {

/// Whether the module that holds `address` was built so. Takes no lock, allocates nothing.
inline bool has_guarded_code(std::uintptr_t address) noexcept {
  const os::LoadedModule module = os::find_module(address);
  if (module.start == 0) return false;
  const WORD traits = os::image_headers(module.start).OptionalHeader.DllCharacteristics;
  return (traits & IMAGE_DLLCHARACTERISTICS_GUARD_CF) != 0;
}

}  // namespace alloctap::pe
