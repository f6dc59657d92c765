/// Pages by VirtualAlloc, the 64 KiB reservations that contain them, allocations, and heap blocks.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// The 64 KiB steps (Windows' allocation granularity) reserved by this class, each a separate
/// allocation. Pages of a step can be committed at chosen addresses, at different times. The class
/// records `kMaxCount` steps; in any further step, pages can be committed only once.
class AddressSteps {
 public:
  static constexpr std::uintptr_t kBytes = std::uintptr_t{64} << 10;

  static std::uintptr_t step_of(std::uintptr_t address) noexcept { return address & ~(kBytes - 1); }

  /// Returns true if this class reserved the step.
  static bool knows(std::uintptr_t step) noexcept { return find(step) != nullptr; }

  /// Makes `[start, end)`, pages of one step, readable and writable. Returns false if any page of
  /// the range is in use, or if other code allocated the step.
  static bool commit(std::uintptr_t start, std::uintptr_t end) noexcept {
    const std::uintptr_t step = step_of(start);
    void* const place = reinterpret_cast<void*>(step);
    const bool is_known = knows(step);
    if (is_known && !is_unused(start, end)) return false;
    if (!is_known && ::VirtualAlloc(place, kBytes, MEM_RESERVE, PAGE_READWRITE) == nullptr) {
      return false;
    }
    if (!is_known) remember(step);
    return ::VirtualAlloc(reinterpret_cast<void*>(start), end - start, MEM_COMMIT,
                          PAGE_READWRITE) != nullptr;
  }

  /// Removes a step from the table, before its addresses are released.
  static void forget(std::uintptr_t step) noexcept {
    std::atomic<std::uintptr_t>* const known = find(step);
    if (known != nullptr) known->store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kMaxCount = 4096;

  static std::atomic<std::uintptr_t>* find(std::uintptr_t step) noexcept {
    for (auto& known : steps_) {
      if (known.load(std::memory_order_relaxed) == step) return &known;
    }
    return nullptr;
  }

  static void remember(std::uintptr_t step) noexcept {
    for (auto& known : steps_) {
      std::uintptr_t none = 0;
      if (known.compare_exchange_strong(none, step, std::memory_order_relaxed)) return;
    }
  }

  static bool is_unused(std::uintptr_t start, std::uintptr_t end) noexcept {
    MEMORY_BASIC_INFORMATION region;
    const auto* const place = reinterpret_cast<const void*>(start);
    if (::VirtualQuery(place, &region, sizeof region) == 0) return false;
    const auto region_end =
        reinterpret_cast<std::uintptr_t>(region.BaseAddress) + region.RegionSize;
    return region.State == MEM_RESERVE && region_end >= end;
  }

  static inline constinit std::array<std::atomic<std::uintptr_t>, kMaxCount> steps_{};
};

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
/// both release its addresses. Waiters poll, because a stopped thread could not react to a wake-up.
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
/// VirtualFree releases addresses only of a whole allocation, so this function decommits the part,
/// and releases the addresses once all parts are decommitted.
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

/// Returns true if `process` is a handle of this process. Runs inside malloc; GetLastError may
/// change.
inline bool is_this_process(HANDLE process) noexcept {
  return process == ::GetCurrentProcess() || ::GetProcessId(process) == ::GetCurrentProcessId();
}

struct AddressSpan {
  std::uintptr_t start = 0;
  std::size_t bytes = 0;
};

/// Returns the allocation that contains `address`, as VirtualAlloc or MapViewOfFile made it,
/// committed or not; empty if unallocated. Runs inside malloc; GetLastError may change.
inline AddressSpan find_allocation(const void* address) noexcept {
  MEMORY_BASIC_INFORMATION region;
  if (::VirtualQuery(address, &region, sizeof region) == 0 || region.State == MEM_FREE) return {};
  const void* const base = region.AllocationBase;
  const auto* end = static_cast<const char*>(base);
  // VirtualQuery merges adjacent pages of equal state into one region.
  while (::VirtualQuery(end, &region, sizeof region) != 0 && region.AllocationBase == base) {
    end += region.RegionSize;
  }
  const auto start = reinterpret_cast<std::uintptr_t>(base);
  return {start, reinterpret_cast<std::uintptr_t>(end) - start};
}

/// Returns the pages that VirtualFree frees: all pages that contain one of the bytes, or, if
/// `bytes` is 0, the pages from `address` to the end of the allocation.
inline AddressSpan find_freed_pages(const void* address, std::size_t bytes) noexcept {
  const std::uintptr_t mask = page_size() - 1;
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t start = place & ~mask;
  if (bytes != 0) return {start, ((place - start) + bytes + mask) & ~mask};
  const AddressSpan whole = find_allocation(address);
  return {start, whole.bytes == 0 ? 0 : whole.start + whole.bytes - start};
}

inline bool is_process_heap(HANDLE heap) noexcept { return heap == ::GetProcessHeap(); }

/// Calls `visit(void* block, std::size_t bytes)` for each used block of `heap`. No other thread may
/// change the heap meanwhile. Allocates nothing; GetLastError changes. Misses blocks that HeapWalk
/// omits or, as with a debug layer of the heap, reports at another address.
template <class Visit>
void visit_heap_blocks(HANDLE heap, Visit&& visit) noexcept {
  PROCESS_HEAP_ENTRY entry{};
  while (::HeapWalk(heap, &entry) != 0) {
    if ((entry.wFlags & PROCESS_HEAP_ENTRY_BUSY) != 0) visit(entry.lpData, entry.cbData);
  }
}

}  // namespace alloctap::os
