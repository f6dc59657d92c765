/// Atomic stores to GOT slots in write-protected pages.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/hook/memory_regions.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap {

/// A compare-and-exchange on one slot.
struct SlotStore {
  std::uintptr_t address = 0;
  std::uintptr_t expected = 0;
  std::uintptr_t desired = 0;
};

/// Writer of slots. Stores each slot by an atomic compare-and-exchange, because other threads call
/// through it. Makes protected pages writable for the store and then restores their protection.
/// Control plane. The slots' modules must stay loaded during the call. errno may change.
class SlotWriter {
 public:
  explicit SlotWriter(const MemoryRegions& regions) noexcept : regions_(regions) {}

  [[nodiscard]] static std::uintptr_t read(std::uintptr_t slot) noexcept {
    return std::atomic_ref(*reinterpret_cast<std::uintptr_t*>(slot))
        .load(std::memory_order_acquire);
  }

  /// Sorts and performs `stores`, and calls `visit(const SlotStore&, bool stored)` for each.
  template <class Visit>
  void write(std::span<SlotStore> stores, Visit&& visit) const noexcept {
    std::sort(stores.begin(), stores.end(),
              [](const SlotStore& a, const SlotStore& b) { return a.address < b.address; });
    while (!stores.empty()) {
      const os::MemoryRegion* region = regions_.find(stores.front().address);
      const auto beyond = std::find_if(stores.begin(), stores.end(), [region](const auto& store) {
        return region == nullptr || store.address >= region->end;
      });
      const auto count = region == nullptr ? 1 : static_cast<std::size_t>(beyond - stores.begin());
      write_region(region, stores.first(count), visit);
      stores = stores.subspan(count);
    }
  }

 private:
  template <class Visit>
  static void write_region(const os::MemoryRegion* region, std::span<SlotStore> stores,
                           Visit& visit) noexcept {
    const std::uintptr_t page = ~(os::page_size() - 1);
    const std::uintptr_t start = stores.front().address & page;
    const std::size_t bytes = (stores.back().address & page) + os::page_size() - start;
    const bool is_protected = region != nullptr && !region->writable;
    const bool writable =
        region != nullptr && (region->writable || unprotect(*region, start, bytes));
    for (const SlotStore& store : stores) visit(store, writable && exchange(store));
    if (writable && is_protected) {
      os::protect_pages(
          start, bytes,
          {.readable = region->readable, .writable = false, .executable = region->executable});
    }
  }

  static bool unprotect(const os::MemoryRegion& region, std::uintptr_t start,
                        std::size_t bytes) noexcept;

  static bool exchange(const SlotStore& store) noexcept;

  const MemoryRegions& regions_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/plt/impl/slot_writer.hpp"
#endif
