/// Single flight: one thread does the work, and threads that arrive meanwhile wait for it.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/os/futex.hpp"

namespace alloctap {

/// Lets the first thread do some work; threads that arrive meanwhile skip the work and can wait
/// until it ends. Not a lock: data that the work accesses needs its own lock. May be used inside
/// malloc. May change errno. Constant-initialized, never destroyed.
class SingleFlight {
 public:
  constexpr SingleFlight() noexcept = default;
  SingleFlight(const SingleFlight&) = delete;
  SingleFlight& operator=(const SingleFlight&) = delete;

  /// Returns true if this thread must do the work and then call `end()`; false if another does it.
  [[nodiscard]] bool try_begin() noexcept {
    std::uint32_t expected = kFree;
    return word_.compare_exchange_strong(expected, kTaken, std::memory_order_relaxed);
  }

  void end() noexcept {
    if (word_.exchange(kFree, std::memory_order_relaxed) == kAwaited) os::futex_wake_all(word_);
  }

  /// Blocks until the current work ends or `nanoseconds` have passed. May return early.
  void await_end(std::int64_t nanoseconds) noexcept;

  /// Resets the word in the child of a fork, which lacks the thread that did the work.
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
