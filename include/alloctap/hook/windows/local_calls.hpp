/// Handlers for LocalAlloc and GlobalAlloc and their relatives, if blocks are checked.
#pragma once

#include <atomic>
#include <cstddef>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/hook/windows/checked_blocks.hpp"
#include "alloctap/hook/windows/functions.hpp"
#include "alloctap/hook/windows/local_functions.hpp"
#include "alloctap/hook/windows/refusable_calls.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Handlers of `WindowsLocalFunctions` for a `CheckingSink`. They allocate and free fixed memory in
/// the process heap, like HeapAlloc and HeapFree. The system's functions hide bad frees from the
/// heap. They may also give fixed memory a user value (Wine does), and such memory is not checked.
///
/// Calls with movable memory, or with blocks unknown to the sink, pass to the system. A bad free
/// returns the handle and a bad reallocation null, both with ERROR_INVALID_HANDLE. LMEM_MODIFY has
/// no effect on fixed memory. Without LMEM_MOVEABLE, a block shrinks in place and never grows.
///
/// `Originals` is the class that `WindowsCheckedCalls` uses; it also has the originals of
/// `WindowsLocalFunctions`. Run inside malloc, on any thread.
template <class Originals, class Sink>
struct WindowsLocalCalls {
  using Heaps = WindowsRefusableCalls<Originals, Sink>;
  using Blocks = WindowsCheckedBlocks<Originals, Sink>;
  using Verdict = BlockLookup::Verdict;

  /// Makes the handlers active. Call once all functions are redirected. Cannot be undone.
  static void begin() noexcept { is_complete_.store(true, std::memory_order_release); }

  template <class Function>
  static HLOCAL allocate(const CallOrigin& origin, UINT flags, SIZE_T bytes) {
    const LocalFlagsOf wanted{flags};
    if (!is_active() || wanted.is_movable() || ReentrancyGuard::inside()) {
      return Originals::template get<Function>()(flags, bytes);
    }
    void* const block = Heaps::template allocate<ntdll::RtlAllocateHeap>(
        origin, ::GetProcessHeap(), wanted.to_allocate(), Function::size(bytes));
    if (block == nullptr) ::SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    return block;
  }

  template <class Function>
  static HLOCAL reallocate(const CallOrigin& origin, HLOCAL old, SIZE_T bytes, UINT flags) {
    auto* const original = Originals::template get<Function>();
    if (is_systems(old)) return original(old, bytes, flags);
    switch (look_up(gone(old, DeallocationKind::kRealloc, origin))) {
      case Verdict::kKnown:
        return reallocate_known(origin, old, bytes, {flags});
      case Verdict::kUnknown:
        return original(old, bytes, flags);
      case Verdict::kRefused:
        break;
    }
    ::SetLastError(ERROR_INVALID_HANDLE);
    return nullptr;
  }

  template <class Function>
  static HLOCAL deallocate(const CallOrigin& origin, HLOCAL handle) {
    auto* const original = Originals::template get<Function>();
    if (is_systems(handle)) return original(handle);
    const ReentrancyGuard guard;
    if (!guard.is_outermost()) return Blocks::release_inside(handle) ? nullptr : original(handle);
    Blocks::note_unknown_block(::GetProcessHeap(), handle);
    switch (Blocks::release(gone(handle, DeallocationKind::kFree, origin))) {
      case ReleasePlan::Action::kPassOn:
        return original(handle);
      case ReleasePlan::Action::kRelease:
      case ReleasePlan::Action::kReturnedToPool:
        return nullptr;
      case ReleasePlan::Action::kRefuse:
        break;
    }
    ::SetLastError(ERROR_INVALID_HANDLE);
    return handle;
  }

  template <class Function, class Handle>
  static void* find(Handle handle) {
    const bool is_ours = Sink::usable_size(handle).verdict == Verdict::kKnown;
    return is_ours ? const_cast<void*>(static_cast<const void*>(handle))
                   : Originals::template get<Function>()(handle);
  }

 private:
  static bool is_active() noexcept {
    return Originals::checking() && is_complete_.load(std::memory_order_acquire);
  }

  /// Returns true for null, for a handle of movable memory, or while the handlers are not active.
  static bool is_systems(HLOCAL handle) noexcept {
    if (handle == nullptr || !is_active()) return true;
    if (!is_like_movable(handle)) return false;
    const os::ErrnoGuard preserve_error;
    return ::LocalFlags(handle) != LMEM_INVALID_HANDLE;
  }

  static DeallocationEvent gone(void* block, DeallocationKind kind,
                                const CallOrigin& origin) noexcept {
    return Blocks::Events::gone(::GetProcessHeap(), block, kind, origin);
  }

  /// Registers an unknown block as unchecked, because the system passes it to a heap hook next.
  static Verdict look_up(const DeallocationEvent& gone) noexcept {
    const ReentrancyGuard guard;
    if (!guard.is_outermost()) return Sink::usable_size(gone.pointer).verdict;
    Blocks::note_unknown_block(gone.heap.value, gone.pointer);
    const Verdict verdict = Sink::before_reallocate(gone).verdict;
    if (verdict == Verdict::kUnknown) Blocks::note(gone.pointer);
    return verdict;
  }

  static HLOCAL reallocate_known(const CallOrigin& origin, HLOCAL old, SIZE_T bytes,
                                 LocalFlagsOf wanted) {
    if (wanted.modifies()) return old;
    if (wanted.is_discardable()) {
      ::SetLastError(ERROR_INVALID_PARAMETER);
      return nullptr;
    }
    void* const block = Heaps::template reallocate<ntdll::RtlReAllocateHeap>(
        origin, ::GetProcessHeap(), wanted.to_reallocate(), old, bytes);
    if (block == nullptr) ::SetLastError(ERROR_NOT_ENOUGH_MEMORY);
    return block;
  }

  static inline constinit std::atomic<bool> is_complete_{false};
};

}  // namespace alloctap
