/// What is in a heap.
#pragma once

#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

inline bool is_process_heap(HANDLE heap) noexcept { return heap == ::GetProcessHeap(); }

/// Calls `visit(void* block, std::size_t bytes)` for each block of `heap` that is in use; no other
/// thread may change the heap meanwhile. Allocates nothing; GetLastError changes. Blocks that the
/// system's own walk does not tell, or tells under another address, as it may where a debugging
/// layer stands in front of the heap, are missing.
template <class Visit>
void visit_heap_blocks(HANDLE heap, Visit&& visit) noexcept {
  PROCESS_HEAP_ENTRY entry{};
  while (::HeapWalk(heap, &entry) != 0) {
    if ((entry.wFlags & PROCESS_HEAP_ENTRY_BUSY) != 0) visit(entry.lpData, entry.cbData);
  }
}

}  // namespace alloctap::os
