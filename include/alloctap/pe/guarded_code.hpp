/// Code in which calls through pointers must lead to functions that the system has listed.
///
/// Control Flow Guard ("PE Format", DllCharacteristics): a module that was built with it calls
/// through a check of the target. The list is the system's, by page; a page that becomes executable
/// has all of its places listed, unless one says that the list is to stay
/// (os/memory_protection.hpp).
#pragma once

#include <cstdint>
#include <cstring>

#include "alloctap/os/find_module.hpp"

namespace alloctap::pe {

/// Whether the module that holds `address` was built so. Takes no lock, allocates nothing.
inline bool has_guarded_code(std::uintptr_t address) noexcept {
  const os::LoadedModule module = os::find_module(address);
  if (module.start == 0) return false;
  constexpr std::uintptr_t kPlaceOfHeaders = 0x3C;
  constexpr std::uintptr_t kPlaceOfTraits = 24 + 70;
  constexpr std::uint16_t kGuarded = 0x4000;
  std::uint32_t headers = 0;
  std::memcpy(&headers, reinterpret_cast<const void*>(module.start + kPlaceOfHeaders),
              sizeof headers);
  std::uint16_t traits = 0;
  std::memcpy(&traits, reinterpret_cast<const void*>(module.start + headers + kPlaceOfTraits),
              sizeof traits);
  return (traits & kGuarded) != 0;
}

}  // namespace alloctap::pe
