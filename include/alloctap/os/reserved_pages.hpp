/// Addresses that are set aside, whose pages can be used and made inaccessible again one by one.
///
/// Every function may run inside malloc, on any thread, and never goes through a symbol that a hook
/// backend replaces. Addresses and bytes are whole pages. errno may change.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alloctap::os {

/// Sets addresses aside that nobody can access and that cost no memory; nullptr where the system
/// refuses.
void* reserve_pages(std::size_t bytes) noexcept;

/// Gives back all that `reserve_pages` returned.
void unreserve_pages(void* address, std::size_t bytes) noexcept;

/// Makes reserved pages readable and writable; those that were not are zero. False where the system
/// refuses.
bool open_pages(void* address, std::size_t bytes) noexcept;

/// Makes reserved pages inaccessible; what was in them is lost and costs no memory. False where the
/// system refuses, and they stay as they were.
bool close_pages(void* address, std::size_t bytes) noexcept;

/// What the system lets a process have; SIZE_MAX where there is no bound.
struct AddressLimits {
  /// Of all mappings together.
  std::size_t bytes = SIZE_MAX;
  /// How many ranges with different access.
  std::size_t ranges = SIZE_MAX;
};

AddressLimits address_limits() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/reserved_pages.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/reserved_pages.hpp"
#else
#error "alloctap/os/reserved_pages.hpp has no implementation for this system"
#endif
