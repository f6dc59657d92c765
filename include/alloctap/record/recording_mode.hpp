/// Session state that decides whether an allocation takes the fast path: pauses and sampling.
#pragma once

#include <atomic>
#include <cstdint>

namespace alloctap {

/// A state word. Its lower half is 0 if allocations take the fast path: recording is not paused,
/// and the sampling policy records everything with its stack. Its upper half is the session number.
/// Thread-safe, lock-free; queries run inside malloc.
class RecordingMode {
 public:
  constexpr RecordingMode() noexcept = default;

  /// Starts a session without pauses. `ask` is true if the policy must decide about each
  /// allocation, `samples` if only some allocations are recorded.
  void begin(bool ask, bool samples) noexcept {
    const std::uint64_t bits = samples ? kSamples | kRuns : ask ? kAsk : 0;
    word_.store(next_session() | bits, std::memory_order_relaxed);
  }

  /// Ends the session. Later reports can still read whether the session sampled.
  void end() noexcept {
    const std::uint64_t bits = word_.load(std::memory_order_relaxed) & (kSamples | kAsk);
    word_.store(next_session() | bits, std::memory_order_relaxed);
  }

  /// Pauses recording. Pauses nest: each needs its own `resume`.
  void pause() noexcept {
    pauses_.fetch_add(1, std::memory_order_relaxed);
    word_.fetch_add(kOnePause, std::memory_order_relaxed);
  }

  /// Ends one pause; has no effect if recording is not paused.
  void resume() noexcept {
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    while (has_pause(word) &&
           !word_.compare_exchange_weak(word, word - kOnePause, std::memory_order_relaxed)) {
    }
  }

  [[nodiscard]] bool any() const noexcept {
    return static_cast<std::uint32_t>(word_.load(std::memory_order_relaxed)) != 0;
  }
  [[nodiscard]] bool paused() const noexcept {
    return has_pause(word_.load(std::memory_order_relaxed));
  }
  [[nodiscard]] bool samples() const noexcept {
    return (word_.load(std::memory_order_relaxed) & kSamples) != 0;
  }

  /// Returns the state word: never 0, different in each session, and different during a pause.
  [[nodiscard]] std::uint64_t word() const noexcept {
    return word_.load(std::memory_order_relaxed);
  }
  /// Returns whether, by `word`, a session that samples is running and recording is not paused.
  [[nodiscard]] static constexpr bool only_samples(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word) == (kSamples | kRuns);
  }

  /// Returns the number of calls of `pause` in all sessions.
  [[nodiscard]] std::uint64_t pauses() const noexcept {
    return pauses_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kAsk = 1;
  static constexpr std::uint32_t kOnePause = 2;
  static constexpr std::uint32_t kRuns = 1U << 30;
  static constexpr std::uint32_t kSamples = 1U << 31;
  static constexpr std::uint64_t kOneSession = std::uint64_t{1} << 32;

  static constexpr bool has_pause(std::uint64_t word) noexcept {
    return (static_cast<std::uint32_t>(word) & (kRuns - kOnePause)) != 0;
  }

  [[nodiscard]] std::uint64_t next_session() const noexcept {
    return (word_.load(std::memory_order_relaxed) / kOneSession + 1) * kOneSession;
  }

  std::atomic<std::uint64_t> word_{kOneSession};
  std::atomic<std::uint64_t> pauses_{0};
};

}  // namespace alloctap
