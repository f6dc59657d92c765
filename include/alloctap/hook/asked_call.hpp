/// A hooked call that its sink is asked for, because it may refuse it.
#pragma once

#include <cstddef>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/event/refusing_sink.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Lives as long as the call; begins before its `ReentrancyGuard`, so that what is thrown for a
/// call that is refused is an exception of the program's. Runs inside malloc.
template <RefusingSink Sink>
class AskedCall {
 public:
  AskedCall(const CallOrigin& origin, std::size_t size) noexcept : refused_(ask(origin, size)) {}
  ~AskedCall() { Sink::end_asked(); }
  AskedCall(const AskedCall&) = delete;
  AskedCall& operator=(const AskedCall&) = delete;

  [[nodiscard]] bool is_refused() const noexcept { return refused_; }

 private:
  static bool ask(const CallOrigin& origin, std::size_t size) noexcept {
    const ReentrancyGuard guard;
    return Sink::refuses({.size = size, .is_own = !guard.is_outermost(), .origin = origin});
  }

  bool refused_;
};

}  // namespace alloctap
