/// What hooked slots lead to.
#pragma once

#include "alloctap/hook/bootstrapped_call.hpp"
#include "alloctap/hook/function_description.hpp"
#include "alloctap/hook/plt_originals.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// `call` has the arguments and the result of `Function`, hands what happens to `Sink` and calls
/// the original. One entry per role; a slot calls it in the place of the original, so its caller is
/// the program.
template <class Function, EventSink Sink, CallRole Role = Function::role,
          class Signature = typename Function::Signature>
struct PltEntry;

template <EventSink Sink>
using PltCall = BootstrappedCall<PltOriginals<Sink>, Sink>;

template <class Function, EventSink Sink, class Result, class... Arguments>
struct PltEntry<Function, Sink, CallRole::kAllocate, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return PltCall<Sink>::template allocate<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct PltEntry<Function, Sink, CallRole::kAllocateInto, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return PltCall<Sink>::template allocate_into<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct PltEntry<Function, Sink, CallRole::kReallocate, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return PltCall<Sink>::template reallocate<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class... Arguments>
struct PltEntry<Function, Sink, CallRole::kDeallocate, void(Arguments...)> {
  ALLOCTAP_NOINLINE static void call(Arguments... arguments) {
    PltCall<Sink>::template deallocate<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct PltEntry<Function, Sink, CallRole::kMeasure, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return PltCall<Sink>::measure(arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct PltEntry<Function, Sink, CallRole::kMap, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return PltCall<Sink>::template map<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct PltEntry<Function, Sink, CallRole::kUnmap, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return PltCall<Sink>::template unmap<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

template <class Function, EventSink Sink, class Result, class... Arguments>
struct PltEntry<Function, Sink, CallRole::kRemap, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return PltCall<Sink>::template remap<Function>(ALLOCTAP_CALL_ORIGIN(), arguments...);
  }
};

}  // namespace alloctap
