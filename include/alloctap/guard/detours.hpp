/// What keeps the allocations of a tracker from the usual way.
#pragma once

#include <atomic>
#include <cstdint>

namespace alloctap {

/// One word that is zero where an allocation need not look further: nobody has to be asked about
/// it, and no pause is in force. Thread-safe, lock-free; `any` and `paused` run inside malloc.
class Detours {
 public:
  constexpr Detours() noexcept = default;

  /// For a new session: no pause is in force.
  void begin(bool ask) noexcept { word_.store(ask ? kAsk : 0, std::memory_order_relaxed); }

  /// In force until `resume` was called as often.
  void pause() noexcept {
    pauses_.fetch_add(1, std::memory_order_relaxed);
    word_.fetch_add(kOnePause, std::memory_order_relaxed);
  }

  /// Ends one pause; does nothing where none is in force.
  void resume() noexcept {
    std::uint32_t word = word_.load(std::memory_order_relaxed);
    while (word >= kOnePause &&
           !word_.compare_exchange_weak(word, word - kOnePause, std::memory_order_relaxed)) {
    }
  }

  [[nodiscard]] bool any() const noexcept { return word_.load(std::memory_order_relaxed) != 0; }
  [[nodiscard]] bool paused() const noexcept {
    return word_.load(std::memory_order_relaxed) >= kOnePause;
  }

  /// How many pauses there were, in all sessions.
  [[nodiscard]] std::uint64_t pauses() const noexcept {
    return pauses_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kAsk = 1;
  static constexpr std::uint32_t kOnePause = 2;

  std::atomic<std::uint32_t> word_{0};
  std::atomic<std::uint64_t> pauses_{0};
};

}  // namespace alloctap
