/// Entry points that patched GOT slots and patched functions lead to.
#pragma once

#include "alloctap/hook/call_wrapper.hpp"
#include "alloctap/hook/function_description.hpp"
#include "alloctap/hook/redirected_originals.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// `call` has the signature of `Function`, reports the call to `Sink` and calls the original. It
/// replaces the original, so its caller is the program. One specialization per role.
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
