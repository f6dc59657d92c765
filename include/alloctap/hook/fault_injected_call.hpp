/// Fault injection for one allocation call.
#pragma once

#include <cerrno>
#include <cstddef>
#include <type_traits>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/event/refusing_sink.hpp"
#include "alloctap/hook/function_description.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/throw_bad_alloc.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Fault injection for one call: asks `Sink` whether the call must fail, and notifies `Sink` when
/// the call ends. Construct it before the call's `ReentrancyGuard`. Otherwise the allocation of a
/// std::bad_alloc thrown here would count as nested. Runs inside malloc.
template <RefusingSink Sink>
class FaultInjectedCall {
 public:
  FaultInjectedCall(const CallOrigin& origin, std::size_t size) noexcept
      : refused_(should_refuse(origin, size)) {}
  ~FaultInjectedCall() { Sink::end_asked(); }
  FaultInjectedCall(const FaultInjectedCall&) = delete;
  FaultInjectedCall& operator=(const FaultInjectedCall&) = delete;

  [[nodiscard]] bool is_refused() const noexcept { return refused_; }

  /// Returns the out-of-memory result of `Function`: ENOMEM, or null with errno set. Throws
  /// std::bad_alloc if `Function` does.
  template <class Function>
  ALLOCTAP_NOINLINE static auto refuse() {
    using Result = typename ResultOf<typename Function::Signature>::Type;
    if constexpr (std::is_same_v<Result, int>) {
      return ENOMEM;
    } else {
      if constexpr (requires { requires Function::throws; }) os::throw_bad_alloc();
      errno = ENOMEM;
      return Result{};
    }
  }

  /// Calls `real_call(origin)` unless the call must fail. `origin` is passed by value, so that the
  /// caller's copy stays in registers.
  template <class Function, class Call>
  ALLOCTAP_NOINLINE static auto call(CallOrigin origin, std::size_t size, Call real_call) {
    const FaultInjectedCall asked(origin, size);
    if (asked.is_refused()) return refuse<Function>();
    return real_call(origin);
  }

 private:
  static bool should_refuse(const CallOrigin& origin, std::size_t size) noexcept {
    const ReentrancyGuard guard;
    return Sink::refuses({.size = size, .is_own = !guard.is_outermost(), .origin = origin});
  }

  bool refused_;
};

}  // namespace alloctap
