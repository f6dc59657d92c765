/// Detects modules with checked indirect branches: Control Flow Guard, or BTI in ELF modules.
///
/// `native::has_guarded_code(address)` returns whether the module that contains `address` has
/// checked branches. If the result is true, the module's pages must stay `guarded`
/// (os/memory_protection.hpp). Takes no lock, allocates nothing.
#pragma once

#include <cstdint>
#include <cstring>

#include "alloctap/os/module_symbols.hpp"

namespace alloctap::pe {

/// Returns whether the module that contains `address` has Control Flow Guard, by a flag in
/// DllCharacteristics ("PE Format"). Takes no lock, allocates nothing.
///
/// Such modules check the targets of indirect calls against the system's list of valid targets.
/// When a page becomes executable, all its addresses become valid, unless the caller requests that
/// the list stays unchanged (os/memory_protection.hpp).
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

#if defined(_WIN32)
namespace alloctap::native {
using pe::has_guarded_code;
}
#else
#include "alloctap/elf/module_code.hpp"
namespace alloctap::native {
using elf::has_guarded_code;
}
#endif
