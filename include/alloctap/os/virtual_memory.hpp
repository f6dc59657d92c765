/// Pages from the system: the only source of the tracker's memory.
///
/// Every function may run inside malloc, on any thread, and bypasses libc symbols that a hook
/// backend replaces. Preserves errno or GetLastError.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alloctap::os {

/// Returns the page size, a power of two.
std::size_t page_size() noexcept;

/// Maps `bytes` (a multiple of the page size) of zeroed, private, readable and writable memory.
/// Pages become resident when touched. Returns nullptr if the system refuses.
void* map_pages(std::size_t bytes) noexcept;

/// Maps memory as `map_pages` does, at exactly `address` (a multiple of the page size). Returns
/// false if any part of the range is already mapped, or if the system refuses.
bool map_pages_at(std::uintptr_t address, std::size_t bytes) noexcept;

/// Unmaps `[address, address + bytes)`: whole pages, of one or more mappings.
void unmap_pages(void* address, std::size_t bytes) noexcept;

/// Enables or disables huge pages for `[address, address + bytes)`, which must be untouched. A hint
/// that affects only speed and resident memory.
void use_huge_pages(void* address, std::size_t bytes, bool wanted) noexcept;

/// Prefaults `[address, address + bytes)`, untouched memory from `map_pages`, for writing. Saves
/// faults, because a page that is read before it is written faults twice. Pages that cannot be
/// prefaulted fault later, when touched.
void bring_in_pages(void* address, std::size_t bytes) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/virtual_memory.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/virtual_memory.hpp"
#else
#error "alloctap/os/virtual_memory.hpp has no implementation for this system"
#endif
