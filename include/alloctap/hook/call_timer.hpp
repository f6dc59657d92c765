/// Taking the time of a real call, for sinks that ask for it.
#pragma once

#include <cstddef>

#include "alloctap/event/allocator_call.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// Of one call, from its constructor to `stop`. Does nothing, and holds nothing, for a sink that
/// does not take the time.
template <class Sink, bool = TimingSink<Sink>>
class CallTimer {
 public:
  template <class Wanted, class BytesOf>
  CallTimer(Wanted&&, AllocatorCall, BytesOf&&) noexcept {}
  void stop() const noexcept {}
};

template <class Sink>
class CallTimer<Sink, true> {
 public:
  /// `wanted()`: whether the call is recorded; `bytes_of()` is what the program asks for. Neither
  /// is asked for a sink that does not take the time: an atomic load whose result nobody uses
  /// stays.
  template <class Wanted, class BytesOf>
  ALLOCTAP_ALWAYS_INLINE CallTimer(Wanted&& wanted, AllocatorCall call,
                                   BytesOf&& bytes_of) noexcept {
    if (wanted()) timed_ = Sink::begin_timing(call, bytes_of());
  }
  ALLOCTAP_ALWAYS_INLINE void stop() const noexcept {
    if (timed_ != nullptr) [[unlikely]] {
      Sink::end_timing(*timed_);
    }
  }

 private:
  const TimedCall* timed_ = nullptr;
};

}  // namespace alloctap
