/// What keeps the allocations of a tracker from the usual way.
#pragma once

#include <atomic>
#include <cstdint>

namespace alloctap {

/// One word, whose lower half is zero where an allocation need not look further: nobody has to be
/// asked about it, no pause is in force, and all are recorded. The upper half tells sessions apart.
/// Thread-safe, lock-free; what asks runs inside malloc.
class RecordingMode {
 public:
  constexpr RecordingMode() noexcept = default;

  /// For a new session: no pause is in force. `samples`: not all allocations are recorded.
  void begin(bool ask, bool samples) noexcept {
    const std::uint64_t bits = samples ? kSamples | kRuns : ask ? kAsk : 0;
    word_.store(next_session() | bits, std::memory_order_relaxed);
  }

  /// The session is over. What is told of it stays as it is.
  void end() noexcept {
    const std::uint64_t bits = word_.load(std::memory_order_relaxed) & (kSamples | kAsk);
    word_.store(next_session() | bits, std::memory_order_relaxed);
  }

  /// In force until `resume` was called as often.
  void pause() noexcept {
    pauses_.fetch_add(1, std::memory_order_relaxed);
    word_.fetch_add(kOnePause, std::memory_order_relaxed);
  }

  /// Ends one pause; does nothing where none is in force.
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

  /// Never 0, and not the same in two sessions, nor in a pause and out of it.
  [[nodiscard]] std::uint64_t word() const noexcept {
    return word_.load(std::memory_order_relaxed);
  }
  /// Whether, where `word()` is this, a session lives that samples, and no pause is in force.
  [[nodiscard]] static constexpr bool only_samples(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word) == (kSamples | kRuns);
  }

  /// How many pauses there were, in all sessions.
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
