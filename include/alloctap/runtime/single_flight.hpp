/// Single flight: one thread does the work, and threads that arrive meanwhile wait for it.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/os/futex.hpp"

namespace alloctap {

/// Lets the first thread do some work; threads that arrive meanwhile wait for its end and skip it.
/// Not a lock: the data that the work touches needs one. Constant-initialized, never destroyed; may
/// be used inside malloc. May change errno.
class SingleFlight {
 public:
  constexpr SingleFlight() noexcept = default;
  SingleFlight(const SingleFlight&) = delete;
  SingleFlight& operator=(const SingleFlight&) = delete;

  /// Returns true if this thread must do the work and then call `end()`.
  [[nodiscard]] bool try_begin() noexcept {
    std::uint32_t expected = kFree;
    return word_.compare_exchange_strong(expected, kTaken, std::memory_order_relaxed);
  }

  void end() noexcept {
    if (word_.exchange(kFree, std::memory_order_relaxed) == kAwaited) os::futex_wake_all(word_);
  }

  /// Blocks until the current work ends, at most `nanoseconds`. May return early, spuriously.
  void await_end(std::int64_t nanoseconds) noexcept;

  /// Resets in the child of a fork, which has one thread: the thread that did the work is gone.
  void after_fork() noexcept { word_.store(kFree, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kTaken = 1;
  static constexpr std::uint32_t kAwaited = 2;

  std::atomic<std::uint32_t> word_{kFree};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/single_flight.hpp"
#endif
