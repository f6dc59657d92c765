/// The part of a hooked call in which its sink may refuse it.
#pragma once

#include <cstddef>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/event/refusing_sink.hpp"
#include "alloctap/guard/reentrancy_guard.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// Lives as long as the call of the hooked function, and begins before its `ReentrancyGuard`. For
/// sinks that refuse nothing it is empty, and nothing of it is compiled.
template <class Sink>
class RefusableCall {
 public:
  template <class Size>
  ALLOCTAP_ALWAYS_INLINE static constexpr bool is_refused(const CallOrigin&, Size&&) noexcept {
    return false;
  }
  template <class Size>
  ALLOCTAP_ALWAYS_INLINE static constexpr bool is_move_refused(const CallOrigin&, const void*,
                                                               Size&&) noexcept {
    return false;
  }
};

template <RefusingSink Sink>
class RefusableCall<Sink> {
 public:
  ALLOCTAP_ALWAYS_INLINE RefusableCall() noexcept = default;
  ALLOCTAP_ALWAYS_INLINE ~RefusableCall() {
    if (asked_) [[unlikely]] {
      Sink::end_asked();
    }
  }
  RefusableCall(const RefusableCall&) = delete;
  RefusableCall& operator=(const RefusableCall&) = delete;

  /// To be asked once. `size()` is the number of bytes that the call wants.
  template <class Size>
  ALLOCTAP_ALWAYS_INLINE bool is_refused(const CallOrigin& origin, Size&& size) noexcept {
    if (!Sink::may_refuse()) [[likely]] {
      return false;
    }
    asked_ = true;
    return ask(size(), origin);
  }

  /// The same of a reallocation of `old`, by a function that frees it where it is to have 0 bytes.
  template <class Size>
  ALLOCTAP_ALWAYS_INLINE bool is_move_refused(const CallOrigin& origin, const void* old,
                                              Size&& size) noexcept {
    if (!Sink::may_refuse()) [[likely]] {
      return false;
    }
    if (old != nullptr && size() == 0) return false;
    return is_refused(origin, size);
  }

 private:
  /// The origin by value: what nobody has the address of stays in registers.
  ALLOCTAP_NOINLINE static bool ask(std::size_t size, CallOrigin origin) noexcept {
    const ReentrancyGuard guard;
    return Sink::refuses({.size = size, .is_own = !guard.outermost(), .origin = origin});
  }

  bool asked_ = false;
};

}  // namespace alloctap
