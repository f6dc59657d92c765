#pragma once

#include <cstddef>

#include "alloctap/os/reserved_pages.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

inline void* reserve_pages(std::size_t bytes) noexcept {
  return ::VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS);
}

inline void unreserve_pages(void* address, std::size_t) noexcept {
  ::VirtualFree(address, 0, MEM_RELEASE);
}

inline bool open_pages(void* address, std::size_t bytes) noexcept {
  return ::VirtualAlloc(address, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr;
}

inline bool close_pages(void* address, std::size_t bytes) noexcept {
  return ::VirtualFree(address, bytes, MEM_DECOMMIT) != 0;
}

inline AddressLimits address_limits() noexcept { return {}; }

}  // namespace alloctap::os
