/// The bodies of runtime/single_flight.hpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/futex.hpp"
#include "alloctap/runtime/single_flight.hpp"

namespace alloctap {

ALLOCTAP_INLINE void SingleFlight::await_end(std::int64_t nanoseconds) noexcept {
  std::uint32_t state = kTaken;
  const bool is_on = word_.compare_exchange_strong(state, kAwaited, std::memory_order_relaxed) ||
                     state == kAwaited;
  if (is_on) os::futex_wait(word_, kAwaited, nanoseconds);
}

}  // namespace alloctap
