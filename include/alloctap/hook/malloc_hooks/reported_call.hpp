/// What an allocator says of a call that it carries out itself.
#pragma once

#include <cstddef>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/hook/malloc_hooks/hook_feed.hpp"
#include "alloctap/hook/malloc_hooks/hook_provider.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// For hooks that stand beside the call: the allocator calls one after it has made a block, and one
/// before it takes a block back. Runs inside malloc; thread-safe.
struct ReportedCall {
  /// nullptr for a call that failed.
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

  /// `size` in bytes, where the allocator tells; else 0.
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
