/// Visits and copies only the pages of a block that were touched.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/thread.hpp"

namespace alloctap {

/// Minimum block size for which the kernel is asked which pages are present. The query takes 4 us:
/// as long as filling a block of this size if resident, 1/40 of that if absent.
inline constexpr std::size_t kLeastBytesAskedFor = std::size_t{256} << 10;

/// Calls `visit(std::byte* begin, std::size_t bytes)` for the parts of a block that may be nonzero:
/// all of a small block, the resident and swapped pages of a large one. Visits the whole block if
/// the kernel cannot be queried. Runs inside malloc; preserves errno.
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

/// Copies like memcpy, but does not fault in pages of either range that were never touched.
void copy_touched(void* destination, const void* source, std::size_t bytes) noexcept;

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/touched_memory.hpp"
#endif
