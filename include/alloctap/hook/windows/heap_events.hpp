/// Events of the Windows heap hooks.
#pragma once

#include "alloctap/event/event_sink.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap {

/// Events for `Sink`. Blocks of malloc, operator new and HeapAlloc cannot be distinguished, so all
/// have `kMalloc` and the heap's handle. GetLastError is preserved. Runs inside malloc.
template <EventSink Sink>
struct WindowsHeapEvents {
  ALLOCTAP_ALWAYS_INLINE static void report_allocation(
      HANDLE heap, void* block, SIZE_T bytes, const CallOrigin& origin,
      const DetachedBlock* reallocated = nullptr) noexcept {
    const os::ErrnoGuard preserve_error;
    Sink::on_allocate(AllocationEvent{.pointer = block,
                                      .size = bytes,
                                      .kind = AllocationKind::kMalloc,
                                      .heap = {heap},
                                      .origin = origin,
                                      .reallocated = reallocated});
  }

  ALLOCTAP_ALWAYS_INLINE static void report_deallocation(HANDLE heap, void* block,
                                                         const CallOrigin& origin) noexcept {
    const os::ErrnoGuard preserve_error;
    Sink::on_deallocate(gone(heap, block, DeallocationKind::kFree, origin));
  }

  ALLOCTAP_ALWAYS_INLINE static DeallocationEvent gone(HANDLE heap, void* block,
                                                       DeallocationKind kind,
                                                       const CallOrigin& origin) noexcept {
    return {.pointer = block, .kind = kind, .heap = {heap}, .origin = origin};
  }
};

}  // namespace alloctap
