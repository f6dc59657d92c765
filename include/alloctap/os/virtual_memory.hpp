/// Pages from the system: the only source of the memory that the tracker uses.
///
/// Every function may run inside malloc, on any thread, and never goes through a symbol that a
/// hook backend replaces. The error number stays as it is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alloctap::os {

/// Bytes in a page; a power of two.
std::size_t page_size() noexcept;

/// Maps `bytes` (a multiple of the page size) of zeroed, private, readable and writable memory
/// that costs nothing until it is touched. Returns nullptr where the system refuses.
void* map_pages(std::size_t bytes) noexcept;

/// The same at `address`, a multiple of the page size, and only if nothing at all is mapped in the
/// range. False where it is taken or the system refuses.
bool map_pages_at(std::uintptr_t address, std::size_t bytes) noexcept;

/// Gives back `[address, address + bytes)`, a whole number of pages of one or more mappings.
void unmap_pages(void* address, std::size_t bytes) noexcept;

/// Asks for huge pages in `[address, address + bytes)`, or for none, before it is touched. What
/// the system makes of it changes nothing but speed and resident memory.
void use_huge_pages(void* address, std::size_t bytes, bool wanted) noexcept;

/// Brings the pages of `[address, address + bytes)`, as `map_pages` returned them, not touched
/// yet, in at once, for writing: a page that is read before it is written is brought in twice.
/// What the system cannot bring in comes when it is touched.
void bring_in_pages(void* address, std::size_t bytes) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/virtual_memory.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/virtual_memory.hpp"
#else
#error "alloctap/os/virtual_memory.hpp has no implementation for this system"
#endif
