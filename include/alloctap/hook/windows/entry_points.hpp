/// What redirected calls of ntdll.dll's functions reach: through slots, or from the functions
/// themselves.
///
/// A backend goes through `WindowsFunctionsFor<Sink>`: for each it sets the original
/// (`WindowsOriginals<Sink>::set<Function>`), puts `WindowsEntry<Function, Sink>::call` in its
/// place, and when all is in place says `WindowsOriginals<Sink>::set_recording(true)`, and before
/// that, for a `CheckingSink`, `begin_checking()`; such entries stay in place for ever. How an
/// entry gets there is the backend's.
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

/// What is redirected for a sink.
template <EventSink Sink>
using WindowsFunctionsFor =
    std::conditional_t<CheckingSink<Sink>, JoinedFunctions<WindowsFunctions, WindowsBlockFunctions>,
                       WindowsFunctions>;

/// `call` has the arguments and the result of `Function`, hands what happens to `Sink` and calls
/// the original. It is called in the place of the original, so its caller is the program, or a
/// library of the system that the program called. Runs inside malloc, and under any lock of the
/// program's, the loader's included.
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
      return Heaps::template look_at<Function>(arguments...);
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
