/// Enumeration of a heap's blocks.
#pragma once

#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

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
