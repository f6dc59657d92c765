/// Which parts of a block the program has ever touched.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/confinement.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/memory_map.hpp"

namespace alloctap {

/// Bytes from which on the system is asked which pages of a block are there: 4 us, as much as it
/// takes to fill so much memory that is there, and a fortieth where it is not.
inline constexpr std::size_t kLeastBytesAskedFor = std::size_t{256} << 10;

/// Calls `visit(std::byte* begin, std::size_t bytes)` for the parts of a block that may hold
/// anything but the system's zeros: all of a small block, the resident and the swapped pages of a
/// large one. Where the system does not answer, or may not be asked, that is all. Runs inside
/// malloc, keeps errno.
template <class Visit>
void visit_touched(std::byte* begin, std::size_t bytes, Visit&& visit) noexcept {
  const bool may_ask = !os::threads_are_confined.load(std::memory_order_relaxed);
  if (bytes < kLeastBytesAskedFor || !may_ask) return visit(begin, bytes);
  const os::ErrnoGuard preserve_error;
  const auto start = reinterpret_cast<std::uintptr_t>(begin);
  os::visit_present_pages(start, start + bytes, [&](std::uintptr_t from, std::uintptr_t to) {
    visit(reinterpret_cast<std::byte*>(from), to - from);
  });
}

/// As memcpy, but that neither range's untouched pages are brought in.
void copy_touched(void* destination, const void* source, std::size_t bytes) noexcept;

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/touched_memory.hpp"
#endif
