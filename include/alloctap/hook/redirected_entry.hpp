/// Entry points that patched GOT slots and patched functions lead to.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/bootstrap_calls.hpp"
#include "alloctap/hook/call_wrapper.hpp"
#include "alloctap/hook/hooked_function.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Originals of the redirected functions. Set before any call is redirected and never cleared,
/// because a thread may still be in a handler after uninstall. Thread-safe.
template <EventSink Sink>
class RedirectedOriginals : public OriginalFunctions<RedirectedOriginals<Sink>> {
 public:
  /// `get` may return a bootstrap function, so handlers must recognize bootstrap blocks.
  static constexpr bool kHandsOutStandIns = true;

  /// Returns the original, never null inside a handler. Returns a bootstrap function
  /// (`BootstrapCall`) while this thread allocates for the tracker.
  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static typename Function::Signature* get() noexcept {
    if constexpr (requires { &BootstrapCall<Function>::call; }) {
      if (UseInternalArena::active()) [[unlikely]] {
        return &BootstrapCall<Function>::call;
      }
    }
    return Functions::template get<Function>();
  }

  static bool recording() noexcept { return recording_.load(std::memory_order_relaxed); }
  static void set_recording(bool on) noexcept { recording_.store(on, std::memory_order_release); }

 private:
  using Functions = OriginalFunctions<RedirectedOriginals>;

  static inline constinit std::atomic<bool> recording_{false};
};

/// Entry point: `call` has the signature of `Function`, reports to `Sink` and calls the original.
/// `call` returns to the program, because the program calls it in place of the original. One
/// specialization per role. Runs inside malloc.
template <class Function, EventSink Sink, CallRole Role = Function::role,
          class Signature = typename Function::Signature>
struct RedirectedEntry;

template <EventSink Sink>
using RedirectedCall = CallWrapper<RedirectedOriginals<Sink>, Sink>;

template <class Function, EventSink Sink, class Result, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kAllocate, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return RedirectedCall<Sink>::template allocate<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kAllocateInto, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return RedirectedCall<Sink>::template allocate_into<Function>(ALLOCTAP_CALL_ORIGIN(),
                                                                  arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kReallocate, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return RedirectedCall<Sink>::template reallocate<Function>(ALLOCTAP_CALL_ORIGIN(),
                                                               arguments...);
  }
};

template <class Function, EventSink Sink, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kDeallocate, void(Arguments...)> {
  ALLOCTAP_NOINLINE static void call(Arguments... arguments) {
    RedirectedCall<Sink>::template deallocate<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kMeasure, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return RedirectedCall<Sink>::measure(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kMap, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return RedirectedCall<Sink>::template map<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kUnmap, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return RedirectedCall<Sink>::template unmap<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct RedirectedEntry<Function, Sink, CallRole::kRemap, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return RedirectedCall<Sink>::template remap<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

}  // namespace alloctap
