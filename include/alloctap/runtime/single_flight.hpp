/// Work that one thread does for all that come to it meanwhile.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/os/futex.hpp"

namespace alloctap {

/// The first thread that comes does the work; others wait until it has ended and leave it at that.
/// Guards no memory: what the work touches needs a lock of its own. Constant-initialized, never
/// destroyed; may be used inside malloc. errno may change.
class SingleFlight {
 public:
  constexpr SingleFlight() noexcept = default;
  SingleFlight(const SingleFlight&) = delete;
  SingleFlight& operator=(const SingleFlight&) = delete;

  /// True where the work falls to this thread, which has to call `end()`.
  [[nodiscard]] bool try_begin() noexcept {
    std::uint32_t expected = kFree;
    return word_.compare_exchange_strong(expected, kTaken, std::memory_order_relaxed);
  }

  void end() noexcept {
    if (word_.exchange(kFree, std::memory_order_relaxed) == kAwaited) os::futex_wake_all(word_);
  }

  /// Until the turn that is now has ended, at most `nanoseconds`. May return early, without cause.
  void await_end(std::int64_t nanoseconds) noexcept;

  /// In the child of a fork, alone: whose turn it was is not there.
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
