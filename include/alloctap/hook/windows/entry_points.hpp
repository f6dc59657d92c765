/// Entry points that patched slots and patched functions of ntdll.dll lead to.
///
/// For each function of `WindowsFunctionsFor<Sink>`, a backend sets the original in
/// `WindowsOriginals<Sink>` and installs `WindowsEntry<Function, Sink>::call`. For a `CheckingSink`
/// it then calls `begin_checking()`; entries then stay for ever. Last, it calls
/// `set_recording(true)`.
#pragma once

#include <type_traits>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/windows/functions.hpp"
#include "alloctap/hook/windows/originals.hpp"
#include "alloctap/hook/windows/page_calls.hpp"
#include "alloctap/hook/windows/refusable_calls.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// Functions that a backend must hook for `Sink`.
template <EventSink Sink>
using WindowsFunctionsFor =
    std::conditional_t<CheckingSink<Sink>, JoinedFunctions<WindowsFunctions, WindowsBlockFunctions>,
                       WindowsFunctions>;

/// Entry point: `call` has the signature of `Function`, reports to `Sink` and calls the original.
/// It replaces the original, so its caller is the program or a system library that the program
/// called. Runs inside malloc, and under any lock of the program, including the loader lock.
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
