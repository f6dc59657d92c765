/// Handlers for Windows heap calls if blocks have red zones, guard pages or a quarantine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/hook/windows/checked_blocks.hpp"
#include "alloctap/hook/windows/functions.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/windows/virtual_memory.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Handlers of `WindowsHeapCalls` for a `CheckingSink`. The sink chooses the size of each block,
/// the offset of the program's bytes in the block, and which frees reach the heap. Blocks are
/// checked once `Originals::checking()` is true, even while no tracker records. Run inside malloc.
///
/// Blocks allocated before the hook are recognized when freed, because the sink does not know them
/// and RtlValidateHeap accepts them. Blocks with a user value or flags (movable LocalAlloc and
/// GlobalAlloc memory) are not checked, because the system reads them directly. Blocks allocated
/// with HEAP_NO_SERIALIZE are not checked, because another thread may free a quarantined block.
///
/// A reallocation is an allocation, a copy and a free. With HEAP_REALLOC_IN_PLACE_ONLY it shrinks a
/// block in place and never grows it. Refused calls return null or false with
/// ERROR_INVALID_PARAMETER. A block passed to the wrong heap is freed in its own heap.
template <class Originals, class Sink>
struct WindowsCheckedCalls {
  using Blocks = WindowsCheckedBlocks<Originals, Sink>;
  using Call = typename Blocks::Call;
  using Events = typename Blocks::Events;

  static void* allocate(const CallOrigin& origin, HANDLE heap, ULONG flags, SIZE_T bytes) {
    const ReentrancyGuard guard;
    if (!guard.is_outermost()) return Blocks::allocate_unchecked(guard, heap, flags, bytes);
    return Blocks::allocate_for_program({guard, origin, heap, flags}, bytes);
  }

  static void* reallocate(const CallOrigin& origin, HANDLE heap, ULONG flags, void* old,
                          SIZE_T bytes) {
    const ReentrancyGuard guard;
    const Call call{guard, origin, heap, flags};
    if (old == nullptr) return Blocks::reallocate_raw(call, old, bytes);
    if (!guard.is_outermost() || !Originals::checking()) return reallocate_inside(call, old, bytes);
    const DeallocationEvent gone = Events::gone(heap, old, DeallocationKind::kRealloc, origin);
    Blocks::note_unknown_block(heap, old);
    const BlockLookup extent = Sink::before_reallocate(gone);
    if (extent.verdict == BlockLookup::Verdict::kRefused) {
      ::SetLastError(ERROR_INVALID_PARAMETER);
      return nullptr;
    }
    if (extent.verdict == BlockLookup::Verdict::kUnknown) {
      return reallocate_unknown(call, gone, bytes);
    }
    if ((flags & HEAP_REALLOC_IN_PLACE_ONLY) != 0) return resize(call, gone, extent, bytes);
    return move(call, gone, extent, bytes);
  }

  static ULONG_PTR deallocate(const CallOrigin& origin, HANDLE heap, ULONG flags, void* block) {
    const ReentrancyGuard guard;
    auto* const original = Originals::template get<ntdll::RtlFreeHeap>();
    if (block == nullptr) return original(heap, flags, block);
    if (!guard.is_outermost() || !Originals::checking()) {
      return Blocks::release_inside(block) ? 1 : original(heap, flags, block);
    }
    Blocks::note_unknown_block(heap, block);
    switch (Blocks::release(Events::gone(heap, block, DeallocationKind::kFree, origin))) {
      case ReleasePlan::Action::kPassOn:
        return original(heap, flags, block);
      case ReleasePlan::Action::kRelease:
      case ReleasePlan::Action::kReturnedToPool:
        return 1;
      case ReleasePlan::Action::kRefuse:
        break;
    }
    ::SetLastError(ERROR_INVALID_PARAMETER);
    return 0;
  }

  static SIZE_T measure(HANDLE heap, ULONG flags, const void* block) {
    const BlockLookup extent = Sink::usable_size(const_cast<void*>(block));
    if (extent.verdict == BlockLookup::Verdict::kKnown) return extent.size;
    return Originals::template get<ntdll::RtlSizeHeap>()(heap, flags, block);
  }

  template <class Function, class... Rest>
  static ULONG_PTR query(HANDLE heap, ULONG flags, void* block, Rest... rest) {
    const BlockLookup extent = Sink::usable_size(block);
    const bool is_known = extent.verdict == BlockLookup::Verdict::kKnown;
    if (is_known && extent.block == nullptr) return look_at_placed<Function>(rest...);
    return Originals::template get<Function>()(heap, flags, is_known ? extent.block : block,
                                               rest...);
  }

  static void on_heap_made(HANDLE heap, ULONG flags) noexcept { Blocks::on_heap_made(heap, flags); }

  /// Reports all blocks of the heap as freed and ends their checks, also for quarantined blocks.
  static void before_heap_goes(const ReentrancyGuard& guard, const CallOrigin& origin,
                               HANDLE heap) noexcept {
    if (heap == nullptr || os::is_process_heap(heap)) return;
    const os::ErrnoGuard preserve_error;
    Blocks::on_heap_gone(heap);
    if (!Originals::checking()) return;
    const bool reports = guard.is_outermost() && Originals::recording();
    const DeallocationEvent gone = Events::gone(heap, nullptr, DeallocationKind::kFree, origin);
    std::uint32_t cursor = 0;
    while (void* const block = Sink::end_next(gone, cursor)) {
      if (reports) Events::report_deallocation(heap, block, origin);
    }
    os::visit_heap_blocks(heap, [&](void* block, std::size_t) {
      if (Sink::forget_unchecked(block) && reports)
        Events::report_deallocation(heap, block, origin);
    });
  }

 private:
  /// Returns the result that a heap has for a valid block without user value or flags. Used for a
  /// block beside a guard page, which is unknown to every heap.
  template <class Function, class... Rest>
  static ULONG_PTR look_at_placed([[maybe_unused]] Rest... rest) noexcept {
    if constexpr (std::is_same_v<Function, ntdll::RtlGetUserInfoHeap>) {
      const auto clear = [](auto* word) {
        if (word != nullptr) *word = {};
      };
      (clear(rest), ...);
    }
    return std::is_same_v<Function, ntdll::RtlValidateHeap> ||
           std::is_same_v<Function, ntdll::RtlGetUserInfoHeap>;
  }

  /// Handles a nested call, which moves a checked block to an unchecked one.
  static void* reallocate_inside(const Call& call, void* old, SIZE_T bytes) {
    const BlockLookup extent = Sink::usable_size(old);
    if (extent.verdict != BlockLookup::Verdict::kKnown) {
      void* const block = Blocks::reallocate_raw(call, old, bytes);
      if (block != nullptr && block != old) static_cast<void>(Sink::forget_unchecked(old));
      Blocks::note(block);
      return block;
    }
    if ((call.flags & HEAP_REALLOC_IN_PLACE_ONLY) != 0) return bytes <= extent.size ? old : nullptr;
    void* const block = Blocks::allocate_unchecked(call.guard, call.heap, call.flags, bytes);
    if (block == nullptr) return nullptr;
    std::memcpy(block, old, std::min(bytes, extent.size));
    static_cast<void>(Blocks::release_inside(old));
    return block;
  }

  static void* reallocate_unknown(const Call& call, const DeallocationEvent& gone, SIZE_T bytes) {
    const bool reports = Originals::recording();
    const DetachedBlock detached = reports ? begin_reallocate(gone) : DetachedBlock{};
    void* const block = Blocks::reallocate_raw(call, gone.pointer, bytes, detached);
    Blocks::note(block == nullptr ? gone.pointer : block);
    if (!reports) return block;
    const os::ErrnoGuard preserve_error;
    if (block == nullptr) {
      Sink::cancel_reallocate(detached);
      return block;
    }
    Sink::finish_reallocate(detached);
    Events::report_allocation(call.heap, block, bytes, call.origin, &detached);
    return block;
  }

  static DetachedBlock begin_reallocate(const DeallocationEvent& gone) noexcept {
    const os::ErrnoGuard preserve_error;
    return Sink::begin_reallocate(gone);
  }

  static void* move(const Call& call, const DeallocationEvent& gone, const BlockLookup& extent,
                    SIZE_T bytes) {
    void* const block = Blocks::allocate_for_program(call, bytes);
    if (block == nullptr) return nullptr;
    std::memcpy(block, gone.pointer, std::min(bytes, extent.size));
    static_cast<void>(Blocks::release(gone));
    return block;
  }

  /// Shrinks a block in place: ends the block and begins another block at its address. Fails if the
  /// block must grow or lies beside a guard page. The heap then sets the error, because this
  /// function requests an impossible size from it.
  static void* resize(const Call& call, const DeallocationEvent& gone, const BlockLookup& extent,
                      SIZE_T bytes) {
    constexpr SIZE_T kMoreThanThereIs = SIZE_T{1} << 60;
    if (extent.block == nullptr || bytes > extent.size) {
      return Blocks::allocate_unchecked(call.guard, call.heap, call.flags, kMoreThanThereIs);
    }
    const os::ErrnoGuard preserve_error;
    const ReleasePlan plan = Sink::release_block(gone);
    if (plan.action != ReleasePlan::Action::kRelease) return nullptr;
    if (Originals::recording()) Sink::on_deallocate(gone);
    auto* const begin = static_cast<std::byte*>(gone.pointer);
    const auto front = static_cast<std::size_t>(begin - static_cast<std::byte*>(plan.block));
    const AllocationRequest wanted{.size = bytes,
                                   .alignment = plan.alignment,
                                   .kind = plan.kind,
                                   .has_content = true,
                                   .heap = plan.heap};
    const BlockPlan same{.bytes = front + bytes, .front = front, .number = plan.number};
    void* const block = Sink::adopt_block(same, plan.block, wanted, call.origin);
    if (Originals::recording()) Events::report_allocation(call.heap, block, bytes, call.origin);
    return block;
  }
};

}  // namespace alloctap
