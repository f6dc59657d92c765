#pragma once

#include <algorithm>

#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "alloctap/os/windows/address_steps.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/errors.hpp"

namespace alloctap::os {

inline DWORD page_protection(Protection protection) noexcept {
  if (protection.executable) {
    const DWORD listed = protection.guarded ? PAGE_TARGETS_NO_UPDATE : 0;
    if (protection.writable) return PAGE_EXECUTE_READWRITE | listed;
    return (protection.readable ? PAGE_EXECUTE_READ : PAGE_EXECUTE) | listed;
  }
  if (protection.writable) return PAGE_READWRITE;
  return protection.readable ? PAGE_READONLY : PAGE_NOACCESS;
}

inline bool protect_pages(std::uintptr_t address, std::size_t bytes,
                          Protection protection) noexcept {
  const std::uintptr_t end = address + bytes;
  // VirtualProtect cannot cross allocations, and each 64 KiB step may be a separate one.
  for (std::uintptr_t start = address; start < end;) {
    const std::uintptr_t stop = std::min(end, AddressSteps::step_of(start) + AddressSteps::kBytes);
    DWORD before = 0;
    if (::VirtualProtect(reinterpret_cast<void*>(start), stop - start, page_protection(protection),
                         &before) == 0) {
      return false;
    }
    start = stop;
  }
  return true;
}

inline bool may_write(std::uintptr_t address, std::size_t bytes) noexcept {
  constexpr DWORD kWritable =
      PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
  const ErrnoGuard preserve_error;
  MEMORY_BASIC_INFORMATION region;
  for (std::uintptr_t at = address; at < address + bytes;) {
    if (::VirtualQuery(reinterpret_cast<void*>(at), &region, sizeof region) == 0) return false;
    const bool is_guard = (region.Protect & PAGE_GUARD) != 0;
    if (region.State != MEM_COMMIT || is_guard || (region.Protect & kWritable) == 0) return false;
    at = reinterpret_cast<std::uintptr_t>(region.BaseAddress) + region.RegionSize;
  }
  return true;
}

/// Returns a text such as "error 5: Access is denied.; ..." for the error in GetLastError.
inline std::string why_code_is_forbidden() {
  const DWORD error = ::GetLastError();
  return "error " + std::to_string(error) + ": " + WindowsErrorTexts::find(error) +
         "; the process's policy on dynamic code may forbid it";
}

}  // namespace alloctap::os
