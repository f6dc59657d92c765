/// Handlers for hooks that the allocator calls besides allocating or freeing a block.
#pragma once

#include <cstddef>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/hook/malloc_hooks/hook_feed.hpp"
#include "alloctap/hook/malloc_hooks/hook_provider.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Handlers that the allocator calls after it allocated a block, and before it frees one. Run
/// inside malloc; thread-safe.
struct ReportedCall {
  /// Reports an allocation. `block` is nullptr for a call that failed.
  ALLOCTAP_ALWAYS_INLINE static void allocated(CallOrigin origin, const volatile void* block,
                                               std::size_t size) noexcept {
    const ReentrancyGuard guard;
    if (block == nullptr || !guard.is_outermost() || !HookFeed::connected()) return;
    const os::ErrnoGuard preserve_error;
    origin.allocator = &hooked_allocator_frames;
    HookFeed::on_allocate(AllocationEvent{.pointer = const_cast<void*>(block),
                                          .size = size,
                                          .kind = AllocationKind::kMalloc,
                                          .origin = origin});
  }

  /// Reports a free. `size` is in bytes; 0 if the allocator does not report it.
  ALLOCTAP_ALWAYS_INLINE static void freeing(CallOrigin origin, const volatile void* block,
                                             std::size_t size) noexcept {
    const ReentrancyGuard guard;
    if (block == nullptr || !guard.is_outermost() || !HookFeed::connected()) return;
    const os::ErrnoGuard preserve_error;
    origin.allocator = &hooked_allocator_frames;
    HookFeed::on_deallocate(DeallocationEvent{.pointer = const_cast<void*>(block),
                                              .stated_size = size,
                                              .kind = DeallocationKind::kFree,
                                              .origin = origin});
  }
};

}  // namespace alloctap
