/// Stops all threads outside the tracker's tables for a moment: for a snapshot, a fork, the end.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/futex.hpp"
#include "alloctap/os/thread.hpp"

namespace alloctap {

/// One per process. A thread states in a flag of its own that it records (`enter` .. `leave`);
/// whoever closes the gate waits until no flag is up.
///
/// The two sides form Dekker's pattern: store own word, then load the other's. The closing side
/// pays for the order of both with a process-wide barrier, so that entering costs a store and a
/// load. Where the system has no such barrier, entering pays for its own order.
class WorldGate {
 public:
  using Flag = std::atomic<std::uint32_t>;

  static constexpr std::int64_t kTimeoutNs = 5'000'000'000;

  /// Before the first use, once; may be called again.
  static void initialize() noexcept {
    if (os::enable_process_wide_barrier()) word_.fetch_and(~kNeedsFence);
  }

  /// Marks the calling thread as recording; waits while the gate is closed.
  ALLOCTAP_ALWAYS_INLINE static void enter(Flag& recording) noexcept {
    recording.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (word_.load(std::memory_order_seq_cst) != kOpen) [[unlikely]] {
      enter_with_care(recording);
    }
  }

  /// The calling thread is out of the tables. Does not return once `halt` was called.
  ALLOCTAP_ALWAYS_INLINE static void leave(Flag& recording) noexcept {
    recording.store(0, std::memory_order_release);
    if ((word_.load(std::memory_order_relaxed) & kHalted) != 0) [[unlikely]] {
      wait_while(kHalted);
    }
  }

  /// From now on `enter` waits. Where there are other threads that may enter, follow with
  /// `synchronize` and with `wait_for` on the flag of each.
  static void close() noexcept { word_.fetch_or(kClosed, std::memory_order_seq_cst); }

  /// Makes sure that whoever does not wait has its flag up. It interrupts every processor that runs
  /// a thread of this process.
  static void synchronize() noexcept {
    if ((word_.load(std::memory_order_relaxed) & kNeedsFence) == 0) os::process_wide_barrier();
  }

  /// Waits until the thread with `recording` is outside; false after `patience_ns`. `kTimeoutNs`
  /// only a thread that was stopped inside can use up.
  [[nodiscard]] static bool wait_for(const Flag& recording,
                                     std::int64_t patience_ns = kTimeoutNs) noexcept;

  static void open() noexcept {
    const std::uint32_t word = word_.fetch_and(~(kClosed | kAwaited), std::memory_order_release);
    if ((word & kAwaited) != 0) os::futex_wake_all(word_);
  }

  /// Whether nobody has closed it.
  [[nodiscard]] static bool is_open() noexcept {
    return (word_.load(std::memory_order_relaxed) & (kClosed | kHalted)) == 0;
  }

  /// Every thread that enters or leaves from now on stays there for ever: the process is about to
  /// end by a signal. May be called inside a signal handler.
  static void halt() noexcept { word_.fetch_or(kHalted, std::memory_order_seq_cst); }

  /// In the child of a fork: open, whatever it was.
  static void reset() noexcept { word_.fetch_and(kNeedsFence, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kOpen = 0;
  static constexpr std::uint32_t kClosed = 1;
  static constexpr std::uint32_t kHalted = 2;
  /// There is no process-wide barrier: whoever enters takes the slow way.
  static constexpr std::uint32_t kNeedsFence = 4;
  /// Somebody waits until it is opened. Set while it is closed or halted.
  static constexpr std::uint32_t kAwaited = 8;
  static constexpr std::int64_t kBackoffNs = 100'000;

  static void enter_with_care(Flag& recording) noexcept;

  static void wait_while(std::uint32_t bits) noexcept;

  static inline constinit std::atomic<std::uint32_t> word_{kNeedsFence};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/world_gate.hpp"
#endif
