/// Handlers of calls that a sink may refuse.
#pragma once

#include <cstddef>

#include "alloctap/hook/asked_call.hpp"
#include "alloctap/hook/hooked_call.hpp"
#include "alloctap/hook/refused_call.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// `HookedCall`, but that a `RefusingSink` is asked before anything else of a call that allocates.
/// What it refuses nobody else hears of.
template <class Originals, EventSink Sink>
struct RefusableCall : HookedCall<Originals, Sink> {
  using Base = HookedCall<Originals, Sink>;

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static auto allocate(const CallOrigin& origin, Arguments... arguments) {
    if constexpr (RefusingSink<Sink>) {
      if (Sink::may_refuse()) [[unlikely]] {
        return ask<Function>(origin, Function::request(arguments...).size, [=](const auto& from) {
          return Base::template allocate<Function>(from, arguments...);
        });
      }
    }
    return Base::template allocate<Function>(origin, arguments...);
  }

  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static int allocate_into(const CallOrigin& origin, void** result,
                                                  Arguments... arguments) {
    if constexpr (RefusingSink<Sink>) {
      if (Sink::may_refuse()) [[unlikely]] {
        const std::size_t size = Function::request(result, arguments...).size;
        return ask<Function>(origin, size, [=](const auto& from) {
          return Base::template allocate_into<Function>(from, result, arguments...);
        });
      }
    }
    return Base::template allocate_into<Function>(origin, result, arguments...);
  }

  /// One to 0 bytes is a free.
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static void* reallocate(const CallOrigin& origin, void* old,
                                                 Arguments... arguments) {
    if constexpr (RefusingSink<Sink>) {
      const std::size_t size = Function::request(old, arguments...).size;
      if (Sink::may_refuse() && (old == nullptr || size != 0)) [[unlikely]] {
        return ask<Function>(origin, size, [=](const auto& from) {
          return Base::template reallocate<Function>(from, old, arguments...);
        });
      }
    }
    return Base::template reallocate<Function>(origin, old, arguments...);
  }

 private:
  /// `call` goes on where it is not refused. Out of the way of calls that are not asked for; the
  /// origin by value, so that theirs stays in registers.
  template <class Function, class Call>
  ALLOCTAP_NOINLINE static auto ask(CallOrigin origin, std::size_t size, Call call) {
    const AskedCall<Sink> asked(origin, size);
    if (asked.is_refused()) return refused_call<Function>();
    return call(origin);
  }
};

}  // namespace alloctap
