/// Entry points that patched functions of ntdll.dll lead to, and handlers of page and view calls.
#pragma once

#include <type_traits>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/windows/functions.hpp"
#include "alloctap/hook/windows/heap_calls.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/windows/virtual_memory.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Handlers of the Nt functions of ntdll.dll. Run inside malloc.
///
/// A mapping is committed memory. MEM_COMMIT reports the pages that the call named, rounded as the
/// system rounded them, even if another call reserved them. Pages that were already committed are
/// then attributed to the last call. MEM_RESERVE alone reports nothing. MEM_DECOMMIT and
/// MEM_RELEASE end the mappings in their range. A view is reported with the full length that the
/// system returns, even if nothing is committed yet (SEC_RESERVE).
///
/// Calls that fail, are nested, or concern other processes are not reported. Arguments, results and
/// GetLastError are unchanged. `Originals`: see `CallWrapper`.
template <class Originals, EventSink Sink>
struct WindowsPageCalls {
  /// Handles NtAllocateVirtualMemory, NtMapViewOfSection and their Ex variants. Ignores a null
  /// result address: for sizes beyond the address space, Wine 8 returns null with success.
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static NTSTATUS map(const CallOrigin& origin, Arguments... arguments) {
    const ReentrancyGuard guard;
    const NTSTATUS status = Originals::template get<Function>()(arguments...);
    const PagesRequest request = Function::request(arguments...);
    const bool reports = succeeded(status) && request.is_memory && *request.address != nullptr;
    if (reports && wanted(guard, request.process)) report_pages(request, origin);
    return status;
  }

  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static NTSTATUS free_pages(const CallOrigin& origin, HANDLE process,
                                                    void** address, SIZE_T* bytes, ULONG type) {
    const ReentrancyGuard guard;
    auto* const original = Originals::template get<Function>();
    const bool complete = address != nullptr && bytes != nullptr;
    if (!complete || !wanted(guard, process)) return original(process, address, bytes, type);
    DetachedMappings detached =
        begin_unmap([&] { return os::find_freed_pages(*address, *bytes); }, origin);
    const NTSTATUS status = original(process, address, bytes, type);
    end_unmap(detached, status);
    return status;
  }

  /// Handles NtUnmapViewOfSection and its Ex variant. Any address in a view unmaps all of it.
  template <class Function, class... Flags>
  ALLOCTAP_ALWAYS_INLINE static NTSTATUS unmap_view(const CallOrigin& origin, HANDLE process,
                                                    void* address, Flags... flags) {
    const ReentrancyGuard guard;
    auto* const original = Originals::template get<Function>();
    if (!wanted(guard, process)) return original(process, address, flags...);
    DetachedMappings detached = begin_unmap([&] { return os::find_allocation(address); }, origin);
    const NTSTATUS status = original(process, address, flags...);
    end_unmap(detached, status);
    return status;
  }

 private:
  static bool wanted(const ReentrancyGuard& guard, HANDLE process) noexcept {
    if (!guard.is_outermost() || !Originals::recording()) return false;
    const os::ErrnoGuard preserve_error;
    return os::is_this_process(process);
  }

  /// Success codes other than 0 exist, for example for an image that was relocated.
  static bool succeeded(NTSTATUS status) noexcept { return status >= 0; }

  static void report_pages(const PagesRequest& request, const CallOrigin& origin) noexcept {
    const os::ErrnoGuard preserve_error;
    Sink::on_map(
        MappingEvent{.address = *request.address, .length = *request.bytes, .origin = origin});
  }

  template <class Find>
  static DetachedMappings begin_unmap(const Find& find, const CallOrigin& origin) noexcept {
    const os::ErrnoGuard preserve_error;
    const os::AddressSpan span = find();
    return Sink::begin_unmap(MappingEvent{
        .address = reinterpret_cast<void*>(span.start), .length = span.bytes, .origin = origin});
  }

  static void end_unmap(DetachedMappings& detached, NTSTATUS status) noexcept {
    const os::ErrnoGuard preserve_error;
    if (succeeded(status)) {
      Sink::finish_unmap(detached);
    } else {
      Sink::cancel_unmap(detached);
    }
  }
};

/// Functions that a backend must hook for `Sink`.
template <EventSink Sink>
using WindowsFunctionsFor =
    std::conditional_t<CheckingSink<Sink>, JoinedFunctions<WindowsFunctions, WindowsBlockFunctions>,
                       WindowsFunctions>;

/// Entry point: `call` has the signature of `Function`, reports to `Sink` and calls the original.
/// It replaces the original, so its caller is the program or a system library that the program
/// called. Runs inside malloc, and under any lock of the program, including the loader lock.
///
/// For each function of `WindowsFunctionsFor<Sink>`, a backend sets the original in
/// `WindowsOriginals<Sink>` and installs `call`. For a `CheckingSink` it then calls
/// `begin_checking()`; entries then stay for ever. Last, it calls `set_recording(true)`.
template <class Function, EventSink Sink, class Signature = typename Function::Signature>
struct WindowsEntry;

template <class Function, EventSink Sink, class Result, class... Arguments>
struct WindowsEntry<Function, Sink, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return dispatch(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }

 private:
  using Heaps = WindowsRefusableCalls<WindowsOriginals<Sink>, Sink>;
  using Pages = WindowsPageCalls<WindowsOriginals<Sink>, Sink>;

  ALLOCTAP_ALWAYS_INLINE static Result dispatch(const CallOrigin& origin, Arguments... arguments) {
    if constexpr (Function::role == WindowsRole::kAllocateBlock) {
      return Heaps::template allocate<Function>(origin, arguments...);
    } else if constexpr (Function::role == WindowsRole::kReallocateBlock) {
      return Heaps::template reallocate<Function>(origin, arguments...);
    } else if constexpr (Function::role == WindowsRole::kFreeBlock) {
      return Heaps::template deallocate<Function>(origin, arguments...);
    } else if constexpr (Function::role == WindowsRole::kMakeHeap) {
      return Heaps::template make_heap<Function>(arguments...);
    } else if constexpr (Function::role == WindowsRole::kDestroyHeap) {
      return Heaps::template destroy_heap<Function>(origin, arguments...);
    } else if constexpr (Function::role == WindowsRole::kMeasureBlock) {
      return Heaps::measure(arguments...);
    } else if constexpr (Function::role == WindowsRole::kLookAtBlock) {
      return Heaps::template query<Function>(arguments...);
    } else if constexpr (Function::role == WindowsRole::kFreePages) {
      return Pages::template free_pages<Function>(origin, arguments...);
    } else if constexpr (Function::role == WindowsRole::kUnmapView) {
      return Pages::template unmap_view<Function>(origin, arguments...);
    } else {
      return Pages::template map<Function>(origin, arguments...);
    }
  }
};

}  // namespace alloctap
