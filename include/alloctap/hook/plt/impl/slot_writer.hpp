/// Definitions for hook/plt/slot_writer.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/hook/plt/slot_writer.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/memory_protection.hpp"

namespace alloctap {

ALLOCTAP_INLINE bool SlotWriter::unprotect(const os::MemoryRegion& region, std::uintptr_t start,
                                           std::size_t bytes) noexcept {
  return os::protect_pages(
      start, bytes,
      {.readable = region.readable, .writable = true, .executable = region.executable});
}

ALLOCTAP_INLINE bool SlotWriter::exchange(const SlotStore& store) noexcept {
  std::uintptr_t expected = store.expected;
  return std::atomic_ref(*reinterpret_cast<std::uintptr_t*>(store.address))
      .compare_exchange_strong(expected, store.desired, std::memory_order_acq_rel);
}

}  // namespace alloctap
