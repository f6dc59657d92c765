/// Handlers that run between a hooked call and a Windows heap.
#pragma once

#include <cstddef>
#include <mutex>

#include "alloctap/event/allocator_call.hpp"
#include "alloctap/event/block_checks.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/call_timer.hpp"
#include "alloctap/hook/windows/checked_calls.hpp"
#include "alloctap/hook/windows/functions.hpp"
#include "alloctap/hook/windows/heap_events.hpp"
#include "alloctap/hook/windows/preexisting_blocks.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/windows/heap_blocks.hpp"
#include "alloctap/os/windows/raising_call.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Handlers of the Rtl functions of ntdll.dll. They report allocations after the real call, and
/// frees before it.
///
/// Arguments, results and GetLastError are unchanged. Nested calls, such as a heap's calls to map
/// pages, are not reported. Blocks of malloc and new are seen too. With a `CheckingSink`,
/// `WindowsCheckedCalls` places blocks. `Originals`: see `CallWrapper`. Run inside malloc.
template <class Originals, EventSink Sink>
struct WindowsHeapCalls {
  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static void* allocate(const CallOrigin& origin, HANDLE heap, ULONG flags,
                                               SIZE_T bytes) {
    if constexpr (CheckingSink<Sink>) return Checked::allocate(origin, heap, flags, bytes);
    const ReentrancyGuard guard;
    Unwinding unwinding(guard);
    auto* const original = Originals::template get<Function>();
    CallTimer<Sink> timer;
    if constexpr (TimingSink<Sink>) {
      if (wanted(guard)) timer.begin(AllocatorCall::kAllocate, bytes);
    }
    void* const block = os::call_with_cleanup(unwinding, original, heap, flags, bytes);
    timer.stop();
    if (wanted(guard) && block != nullptr) Events::report_allocation(heap, block, bytes, origin);
    return block;
  }

  /// Reallocates a block. A null result means that the old block is still live, even for size 0.
  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static void* reallocate(const CallOrigin& origin, HANDLE heap, ULONG flags,
                                                 void* old, SIZE_T bytes) {
    if constexpr (CheckingSink<Sink>) return Checked::reallocate(origin, heap, flags, old, bytes);
    const ReentrancyGuard guard;
    const bool reports = wanted(guard);
    Unwinding unwinding(guard);
    if (reports) unwinding.detached = begin_reallocate(heap, old, origin);
    auto* const original = Originals::template get<Function>();
    CallTimer<Sink> timer;
    if constexpr (TimingSink<Sink>) {
      if (reports) timer.begin(AllocatorCall::kReallocate, bytes);
    }
    void* const block = os::call_with_cleanup(unwinding, original, heap, flags, old, bytes);
    timer.stop();
    if (!reports) return block;
    const os::ErrnoGuard preserve_error;
    if (block == nullptr) {
      Sink::cancel_reallocate(unwinding.detached);
      return block;
    }
    Sink::finish_reallocate(unwinding.detached);
    Events::report_allocation(heap, block, bytes, origin, &unwinding.detached);
    return block;
  }

  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static ULONG_PTR deallocate(const CallOrigin& origin, HANDLE heap,
                                                     ULONG flags, void* block) {
    if constexpr (CheckingSink<Sink>) return Checked::deallocate(origin, heap, flags, block);
    const ReentrancyGuard guard;
    const bool reports = wanted(guard) && block != nullptr;
    if (reports) Events::report_deallocation(heap, block, origin);
    CallTimer<Sink> timer;
    if constexpr (TimingSink<Sink>) {
      if (reports) timer.begin(AllocatorCall::kFree, 0);
    }
    const ULONG_PTR freed = Originals::template get<Function>()(heap, flags, block);
    timer.stop();
    return freed;
  }

  /// Creates a heap, whose pages are not reported as the program's mapping.
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static HANDLE make_heap(ULONG flags, Arguments... arguments) {
    const ReentrancyGuard guard;
    const HANDLE heap = Originals::template get<Function>()(flags, arguments...);
    if constexpr (CheckingSink<Sink>) Checked::on_heap_made(heap, flags);
    return heap;
  }

  /// Reports all blocks of the heap as freed. Finds them by walking the heap, because a block list
  /// per heap would slow down each allocation and free. Skips the process heap, which the system
  /// never destroys.
  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static HANDLE destroy_heap(const CallOrigin& origin, HANDLE heap) {
    const ReentrancyGuard guard;
    if constexpr (CheckingSink<Sink>) {
      Checked::before_heap_goes(guard, origin, heap);
    } else if (wanted(guard) && heap != nullptr && !os::is_process_heap(heap)) {
      const os::ErrnoGuard preserve_error;
      os::visit_heap_blocks(
          heap, [&](void* block, SIZE_T) { Events::report_deallocation(heap, block, origin); });
      // Begins a timing that never ends, because otherwise the sink would wait for the duration of
      // the last free.
      if constexpr (TimingSink<Sink>) CallTimer<Sink>().begin(AllocatorCall::kFree, 0);
    }
    const std::lock_guard not_while_noting(PreexistingBlocks::lock());
    return Originals::template get<Function>()(heap);
  }

  /// Returns the block's usable size. Hooked only with a `CheckingSink`.
  ALLOCTAP_ALWAYS_INLINE static SIZE_T measure(HANDLE heap, ULONG flags, const void* block) {
    return Checked::measure(heap, flags, block);
  }

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static ULONG_PTR query(Arguments... arguments) {
    return Checked::template query<Function>(arguments...);
  }

 private:
  using Checked = WindowsCheckedCalls<Originals, Sink>;
  using Events = WindowsHeapEvents<Sink>;

  /// Undoes a call's side effects if it raises an exception (HEAP_GENERATE_EXCEPTIONS).
  struct Unwinding : os::CallCleanup {
    explicit Unwinding(const ReentrancyGuard& entered) noexcept
        : CallCleanup{&clean_up}, guard(entered) {}

    static void clean_up(os::CallCleanup& self) noexcept {
      const os::ErrnoGuard preserve_error;
      const auto& unwinding = static_cast<Unwinding&>(self);
      if (unwinding.detached.known) Sink::cancel_reallocate(unwinding.detached);
      unwinding.guard.leave();
    }

    const ReentrancyGuard& guard;
    DetachedBlock detached;
  };

  static bool wanted(const ReentrancyGuard& guard) noexcept {
    return guard.is_outermost() && Originals::recording();
  }

  static DetachedBlock begin_reallocate(HANDLE heap, void* old, const CallOrigin& origin) noexcept {
    if (old == nullptr) return {};
    const os::ErrnoGuard preserve_error;
    return Sink::begin_reallocate(Events::gone(heap, old, DeallocationKind::kRealloc, origin));
  }
};

}  // namespace alloctap
