/// Which of a process' heaps a block is of, where the system lets programs make more than one.
///
/// `HeapHandle` is empty where it does not; otherwise `value` is what the system knows the heap by,
/// nullptr where that was not told.
#pragma once

namespace alloctap::os {

#if defined(_WIN32)
struct HeapHandle {
  void* value = nullptr;
};
#else
struct HeapHandle {};
#endif

}  // namespace alloctap::os
