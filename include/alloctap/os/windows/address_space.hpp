/// Allocations by VirtualQuery, as VirtualAlloc and VirtualFree see them, and blocks by HeapWalk.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

// Helpers for the arguments of virtual memory calls.

/// Returns true if `process` is a handle of this process. Runs inside malloc; GetLastError may
/// change.
inline bool is_this_process(HANDLE process) noexcept {
  return process == ::GetCurrentProcess() || ::GetProcessId(process) == ::GetCurrentProcessId();
}

/// A range of address space.
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

// Enumeration of a heap's blocks.

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
