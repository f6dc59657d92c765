/// Checked blocks in Windows heaps, their events, aligned memory, and heaps that are not checked.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/windows/functions.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/raising_call.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Reports the events of the Windows heap hooks to `Sink`. Blocks of malloc, operator new and
/// HeapAlloc cannot be distinguished, so all have `kMalloc` and the heap's handle. GetLastError is
/// preserved. Runs inside malloc.
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

/// Allocator of aligned memory inside larger heap blocks. Stores the heap block's address XOR
/// `kMask` in the word before the memory.
class WindowsAlignedMemory {
 public:
  /// Allocates by `allocate(bytes)`, the heap's function, whose blocks are 16-aligned. Returns
  /// nullptr if `allocate` does. Requires that `bytes + alignment` does not overflow and that
  /// `alignment` is a power of two.
  template <class Allocate>
  static void* allocate(std::size_t bytes, std::size_t alignment, Allocate&& allocate) {
    const std::size_t step = std::max(alignment, kGranule);
    const auto block = reinterpret_cast<std::uintptr_t>(allocate(bytes + step + kGranule));
    if (block == 0) return nullptr;
    const std::uintptr_t begin = (block + kGranule + step - 1) / step * step;
    word_before(begin) = block ^ kMask;
    return reinterpret_cast<void*>(begin);
  }

  /// Returns the heap block around `memory`, a result of `allocate`.
  static void* block_of(void* memory) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    return reinterpret_cast<void*>(word_before(begin) ^ kMask);
  }

  /// Returns the word before `block`, or 0 if it is unreadable. In an aligned block of the C
  /// library, that word holds the address of the heap block around the aligned block.
  static std::uintptr_t librarys_word(const void* block) noexcept {
    constexpr std::uintptr_t kWord = sizeof(std::uintptr_t);
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(block) / kWord * kWord;
    std::uintptr_t word = 0;
    if (begin < kWord) return 0;
    const auto bytes = std::as_writable_bytes(std::span(&word, 1));
    return os::copy_memory(begin - kWord, bytes) == kWord ? word : 0;
  }

 private:
  static constexpr std::size_t kGranule = 16;
  /// Distinguishes this class's word from the C library's.
  static constexpr std::uintptr_t kMask = 0xA5A5'5A5A'A5A5'5A5A;

  static std::uintptr_t& word_before(std::uintptr_t begin) noexcept {
    return reinterpret_cast<std::uintptr_t*>(begin)[-1];
  }
};

/// Set of the heaps created without a lock (HEAP_NO_SERIALIZE) since the hook was installed. Their
/// blocks are not checked, because only the program knows when such a heap may be called.
/// Thread-safe; runs inside malloc. Constant-initialized, never destroyed.
class NoSerializeHeaps {
 public:
  constexpr NoSerializeHeaps() noexcept = default;

  void add(HANDLE heap) noexcept {
    for (std::atomic<HANDLE>& place : heaps_) {
      HANDLE none = nullptr;
      if (place.compare_exchange_strong(none, heap)) return static_cast<void>(++count_);
    }
    knows_all_ = false;
  }

  void remove(HANDLE heap) noexcept {
    for (std::atomic<HANDLE>& place : heaps_) {
      HANDLE held = heap;
      if (place.compare_exchange_strong(held, nullptr)) return static_cast<void>(--count_);
    }
  }

  /// Returns true if `heap` is in the set, or if the set overflowed.
  [[nodiscard]] bool has(HANDLE heap) const noexcept {
    if (!knows_all_.load(std::memory_order_relaxed)) return true;
    if (count_.load(std::memory_order_acquire) == 0) return false;
    for (const std::atomic<HANDLE>& place : heaps_) {
      if (place.load(std::memory_order_relaxed) == heap) return true;
    }
    return false;
  }

 private:
  std::array<std::atomic<HANDLE>, 64> heaps_{};
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> knows_all_{true};
};

/// Helpers of `WindowsCheckedCalls`, which allocate and free checked blocks. They run inside malloc
/// and preserve GetLastError, except for errors that the heap itself sets.
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
