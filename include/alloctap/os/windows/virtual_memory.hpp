/// Pages by VirtualAlloc, which reserves addresses in 64 KiB units and releases a reservation only
/// as a whole. Freed parts are decommitted; once all parts are decommitted, addresses are released.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/os/windows/address_steps.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// All supported processors have this page size; 64-bit Windows uses no other.
inline std::size_t page_size() noexcept { return 4096; }

inline void* map_pages(std::size_t bytes) noexcept {
  const ErrnoGuard preserve_error;
  return ::VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

/// Returns true if no page of the allocation at `base` is committed.
inline bool is_given_back(const void* base) noexcept {
  MEMORY_BASIC_INFORMATION region;
  const bool known = ::VirtualQuery(base, &region, sizeof region) != 0;
  if (!known || region.AllocationBase != base || region.State != MEM_RESERVE) return false;
  // VirtualQuery merges adjacent pages of equal state into one region.
  const auto* const end = static_cast<const char*>(base) + region.RegionSize;
  return ::VirtualQuery(end, &region, sizeof region) == 0 || region.AllocationBase != base;
}

/// Lock for freeing pages. Prevents that two threads which free the last two parts of an allocation
/// both release its addresses. Waiters poll: a stopped thread could not react to a wake-up.
class PageRelease {
 public:
  PageRelease() noexcept {
    while (taken_.exchange(true, std::memory_order_acquire)) ::SwitchToThread();
  }
  ~PageRelease() { taken_.store(false, std::memory_order_release); }
  PageRelease(const PageRelease&) = delete;
  PageRelease& operator=(const PageRelease&) = delete;

 private:
  static inline constinit std::atomic<bool> taken_{false};
};

/// Frees `[start, end)` as far as the allocation at `start` extends. Returns the end of that part.
inline char* unmap_in_allocation(char* start, char* end) noexcept {
  MEMORY_BASIC_INFORMATION region;
  if (::VirtualQuery(start, &region, sizeof region) == 0) return end;
  char* const region_end = static_cast<char*>(region.BaseAddress) + region.RegionSize;
  char* const stop = region_end < end ? region_end : end;
  if (region.State != MEM_COMMIT) return stop;
  const PageRelease hold;
  ::VirtualFree(start, static_cast<std::size_t>(stop - start), MEM_DECOMMIT);
  if (is_given_back(region.AllocationBase)) {
    AddressSteps::forget(reinterpret_cast<std::uintptr_t>(region.AllocationBase));
    ::VirtualFree(region.AllocationBase, 0, MEM_RELEASE);
  }
  return stop;
}

inline void unmap_pages(void* address, std::size_t bytes) noexcept {
  const ErrnoGuard preserve_error;
  char* start = static_cast<char*>(address);
  char* const end = start + bytes;
  while (start < end) start = unmap_in_allocation(start, end);
}

/// Maps each 64 KiB step separately, because other calls may map other pages of a step.
inline bool map_pages_at(std::uintptr_t address, std::size_t bytes) noexcept {
  const ErrnoGuard preserve_error;
  const std::uintptr_t end = address + bytes;
  for (std::uintptr_t start = address; start < end;) {
    const std::uintptr_t stop = std::min(end, AddressSteps::step_of(start) + AddressSteps::kBytes);
    if (!AddressSteps::commit(start, stop)) {
      unmap_pages(reinterpret_cast<void*>(address), start - address);
      return false;
    }
    start = stop;
  }
  return true;
}

/// Does nothing, because large pages need a privilege and cannot be enabled later.
inline void use_huge_pages(void*, std::size_t, bool) noexcept {}

/// Does nothing: unlike on Linux, a page that is read before it is written faults only once.
inline void bring_in_pages(void*, std::size_t) noexcept {}

}  // namespace alloctap::os
