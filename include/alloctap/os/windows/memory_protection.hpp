#pragma once

#include "alloctap/os/memory_protection.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

inline DWORD page_protection(Protection protection) noexcept {
  if (protection.executable) {
    if (protection.writable) return PAGE_EXECUTE_READWRITE;
    return protection.readable ? PAGE_EXECUTE_READ : PAGE_EXECUTE;
  }
  if (protection.writable) return PAGE_READWRITE;
  return protection.readable ? PAGE_READONLY : PAGE_NOACCESS;
}

inline bool protect_pages(std::uintptr_t address, std::size_t bytes,
                          Protection protection) noexcept {
  DWORD before = 0;
  return ::VirtualProtect(reinterpret_cast<void*>(address), bytes, page_protection(protection),
                          &before) != 0;
}

}  // namespace alloctap::os
