/// Timer for the real allocator call.
#pragma once

#include <cstddef>

#include "alloctap/event/allocator_call.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// Timer of one real allocator call for a `TimingSink`, from `begin` to `stop`. `stop` has no
/// effect unless `begin` was called. The class is empty for sinks without timing.
template <class Sink, bool = TimingSink<Sink>>
class CallTimer {
 public:
  void stop() const noexcept {}
};

template <class Sink>
class CallTimer<Sink, true> {
 public:
  /// `bytes` is the size that the program requested.
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
