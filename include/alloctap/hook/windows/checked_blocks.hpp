/// Allocates and frees checked blocks in Windows heaps. Runs inside malloc.
#pragma once

#include <cstddef>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/hook/windows/aligned_memory.hpp"
#include "alloctap/hook/windows/functions.hpp"
#include "alloctap/hook/windows/heap_events.hpp"
#include "alloctap/hook/windows/no_serialize_heaps.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/windows/raising_call.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Helpers of `WindowsCheckedCalls`. They run inside malloc and preserve GetLastError, except for
/// errors that the heap itself sets.
template <class Originals, class Sink>
struct WindowsCheckedBlocks {
  using Events = WindowsHeapEvents<Sink>;

  struct Call {
    const ReentrancyGuard& guard;
    const CallOrigin& origin;
    HANDLE heap;
    ULONG flags;
  };

  static void* allocate_unchecked(const ReentrancyGuard& guard, HANDLE heap, ULONG flags,
                                  SIZE_T bytes) {
    Unwinding unwinding(guard);
    auto* const original = Originals::template get<ntdll::RtlAllocateHeap>();
    void* const block = os::call_with_cleanup(unwinding, original, heap, flags, bytes);
    note(block);
    return block;
  }

  /// Allocates a checked block, or an unchecked one if there is no memory for red zones.
  static void* allocate_checked(const Call& call, SIZE_T bytes) {
    const AllocationRequest wanted{
        .size = bytes, .has_content = (call.flags & HEAP_ZERO_MEMORY) != 0, .heap = {call.heap}};
    const BlockPlan plan = Sink::plan_block(wanted);
    if (plan.place != nullptr) return Sink::adopt_block(plan, plan.place, wanted, call.origin);
    Unwinding unwinding(call.guard, &plan);
    auto* const original = Originals::template get<ntdll::RtlAllocateHeap>();
    void* const raw = os::call_with_cleanup(unwinding, original, call.heap, call.flags, plan.bytes);
    if (raw != nullptr) return Sink::adopt_block(plan, raw, wanted, call.origin);
    Sink::drop_plan(plan);
    if (plan.bytes == bytes) return nullptr;
    return allocate_unchecked(call.guard, call.heap, call.flags, bytes);
  }

  static void* allocate_for_program(const Call& call, SIZE_T bytes) {
    void* const block = checks(call.heap, call.flags)
                            ? allocate_checked(call, bytes)
                            : allocate_unchecked(call.guard, call.heap, call.flags, bytes);
    if (block != nullptr && Originals::recording()) {
      Events::report_allocation(call.heap, block, bytes, call.origin);
    }
    return block;
  }

  static ReleasePlan::Action release(const DeallocationEvent& gone) noexcept {
    const os::ErrnoGuard preserve_error;
    const ReleasePlan plan = Sink::release_block(gone);
    if (plan.action == ReleasePlan::Action::kRefuse) return plan.action;
    if (Originals::recording()) Sink::on_deallocate(gone);
    if (plan.action == ReleasePlan::Action::kPassOn) return plan.action;
    if (Sink::retire_block(plan)) give_back(plan);
    for (ReleasePlan evicted; Sink::next_evicted(evicted, gone.origin);) give_back(evicted);
    return plan.action;
  }

  static void give_back(const ReleasePlan& plan) noexcept {
    void* const block = plan.kind == AllocationKind::kAlignedMalloc
                            ? WindowsAlignedMemory::block_of(plan.block)
                            : plan.block;
    Originals::template get<ntdll::RtlFreeHeap>()(plan.heap.value, 0, block);
  }

  /// Handles a nested free. Returns true if `block` was checked, and so freed or refused.
  static bool release_inside(void* block) noexcept {
    const os::ErrnoGuard preserve_error;
    const ReleasePlan plan = Sink::release_unchecked(block);
    if (plan.action == ReleasePlan::Action::kRelease) give_back(plan);
    return plan.action != ReleasePlan::Action::kPassOn;
  }

  static void* reallocate_raw(const Call& call, void* old, SIZE_T bytes,
                              const DetachedBlock& detached = {}) {
    Unwinding unwinding(call.guard);
    unwinding.detached = detached;
    auto* const original = Originals::template get<ntdll::RtlReAllocateHeap>();
    return os::call_with_cleanup(unwinding, original, call.heap, call.flags, old, bytes);
  }

  static void note(void* block) noexcept {
    const os::ErrnoGuard preserve_error;
    if (block != nullptr) Sink::register_unchecked_block(block);
  }

  static void note_unknown_block(HANDLE heap, void* block) noexcept {
    const os::ErrnoGuard preserve_error;
    if (!Sink::is_unknown_block(block)) return;
    auto* const is_block = Originals::template get<ntdll::RtlValidateHeap>();
    if ((is_block(heap, 0, block) & 0xFF) != 0) Sink::register_unchecked_block(block);
  }

  static void on_heap_made(HANDLE heap, ULONG flags) noexcept {
    if (heap != nullptr && (flags & HEAP_NO_SERIALIZE) != 0) unserialized_.add(heap);
  }
  static void on_heap_gone(HANDLE heap) noexcept { unserialized_.remove(heap); }

 private:
  /// Cleanup that undoes the call's side effects if the heap raises an exception.
  struct Unwinding : os::CallCleanup {
    explicit Unwinding(const ReentrancyGuard& entered, const BlockPlan* made = nullptr) noexcept
        : CallCleanup{&clean_up}, guard(entered), plan(made) {}

    static void clean_up(os::CallCleanup& self) noexcept {
      const os::ErrnoGuard preserve_error;
      const auto& unwinding = static_cast<Unwinding&>(self);
      if (unwinding.plan != nullptr) Sink::drop_plan(*unwinding.plan);
      if (unwinding.detached.known) Sink::cancel_reallocate(unwinding.detached);
      unwinding.guard.leave();
    }

    const ReentrancyGuard& guard;
    const BlockPlan* plan;
    DetachedBlock detached;
  };

  /// Bits of HEAP_SETTABLE_USER_VALUE and HEAP_SETTABLE_USER_FLAGS.
  static constexpr ULONG kUserInfo = 0xF00;

  static bool checks(HANDLE heap, ULONG flags) noexcept {
    return Originals::checking() && (flags & (kUserInfo | HEAP_NO_SERIALIZE)) == 0 &&
           !unserialized_.has(heap);
  }

  static inline constinit NoSerializeHeaps unserialized_;
};

}  // namespace alloctap
