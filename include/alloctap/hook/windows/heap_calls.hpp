/// Handlers of Windows heap calls, their fault injection, and the blocks older than the hook.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "alloctap/event/address_range.hpp"
#include "alloctap/event/block_checks.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/hooked_function.hpp"
#include "alloctap/hook/windows/checked_blocks.hpp"
#include "alloctap/hook/windows/checked_calls.hpp"
#include "alloctap/hook/windows/functions.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/raising_call.hpp"
#include "alloctap/os/windows/virtual_memory.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// List of the blocks allocated before the hook was installed. Every live block is in the list or
/// recorded. The list is short if the tracker starts before the program's own code. With over
/// `kMaxCount` blocks, the list is discarded.
class PreexistingBlocks {
 public:
  static constexpr std::size_t kMaxCount = 16 * 1024;

  /// Lists the live blocks. Control plane. Requires that all allocation functions are hooked, and
  /// that handlers that destroy heaps hold `lock()`. A HEAP_NO_SERIALIZE heap must not change
  /// during the call.
  static void note() noexcept {
    const std::lock_guard hold(lock_);
    static_cast<void>(blocks_.resize(0));
    std::array<HANDLE, kMaxHeaps> heaps{};
    const DWORD count = ::GetProcessHeaps(kMaxHeaps, heaps.data());
    known_ = count > 0 && count <= kMaxHeaps && blocks_.reserve(kMaxCount);
    for (DWORD i = 0; known_ && i < count; ++i) note(heaps[i]);
  }

  /// Returns the list, or nullopt if it is incomplete. Valid until the next `note`.
  [[nodiscard]] static std::optional<std::span<const AddressRange>> get() noexcept {
    if (!known_) return std::nullopt;
    return std::span<const AddressRange>(blocks_.data(), blocks_.size());
  }

  [[nodiscard]] static FutexLock& lock() noexcept { return lock_; }

 private:
  static constexpr DWORD kMaxHeaps = 256;

  static void note(HANDLE heap) noexcept {
    known_ = ::HeapLock(heap) != 0;
    if (!known_) return;
    os::visit_heap_blocks(heap, [](const void* block, std::size_t bytes) {
      const auto start = reinterpret_cast<std::uintptr_t>(block);
      known_ = known_ && blocks_.size() < kMaxCount && blocks_.push_back({start, start + bytes});
    });
    ::HeapUnlock(heap);
  }

  static inline constinit FutexLock lock_;
  static inline constinit ArenaArray<AddressRange> blocks_;
  static inline constinit bool known_ = false;
};

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

/// `WindowsHeapCalls` with fault injection: asks a `RefusingSink` before each allocation. A refused
/// call returns null with ERROR_NOT_ENOUGH_MEMORY and is not reported. A refused call raises no
/// exception, even with HEAP_GENERATE_EXCEPTIONS. Runs inside malloc.
template <class Originals, EventSink Sink>
struct WindowsRefusableCalls : WindowsHeapCalls<Originals, Sink> {
  using Base = WindowsHeapCalls<Originals, Sink>;

  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static void* allocate(const CallOrigin& origin, HANDLE heap, ULONG flags,
                                               SIZE_T bytes) {
    if constexpr (RefusingSink<Sink>) {
      if (Sink::may_refuse()) [[unlikely]] {
        return call_or_refuse(origin, bytes, [=](const CallOrigin& from) {
          return Base::template allocate<Function>(from, heap, flags, bytes);
        });
      }
    }
    return Base::template allocate<Function>(origin, heap, flags, bytes);
  }

  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static void* reallocate(const CallOrigin& origin, HANDLE heap, ULONG flags,
                                                 void* old, SIZE_T bytes) {
    if constexpr (RefusingSink<Sink>) {
      if (Sink::may_refuse()) [[unlikely]] {
        return call_or_refuse(origin, bytes, [=](const CallOrigin& from) {
          return Base::template reallocate<Function>(from, heap, flags, old, bytes);
        });
      }
    }
    return Base::template reallocate<Function>(origin, heap, flags, old, bytes);
  }

 private:
  /// Runs `call` unless the sink refuses it. Out of line, to keep the common path short.
  template <class Call>
  ALLOCTAP_NOINLINE static void* call_or_refuse(CallOrigin origin, SIZE_T bytes, Call call) {
    const FaultInjectedCall<Sink> asked(origin, bytes);
    if (!asked.is_refused()) return call(origin);
    ::SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    return nullptr;
  }
};

}  // namespace alloctap
