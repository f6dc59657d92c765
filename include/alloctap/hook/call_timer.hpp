/// Taking the time of a real call, for sinks that ask for it.
#pragma once

#include <cstddef>

#include "alloctap/event/allocator_call.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// Of one call, from `begin` to `stop`; nothing where it is not begun. Holds nothing for a sink
/// that does not take the time, and cannot be begun then.
template <class Sink, bool = TimingSink<Sink>>
class CallTimer {
 public:
  void stop() const noexcept {}
};

template <class Sink>
class CallTimer<Sink, true> {
 public:
  /// `bytes`: what the program asks for.
  ALLOCTAP_ALWAYS_INLINE void begin(AllocatorCall call, std::size_t bytes) noexcept {
    timed_ = Sink::begin_timing(call, bytes);
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
