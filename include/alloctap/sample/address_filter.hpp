/// Tells addresses that nobody recorded from those that somebody may have, with one load.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace alloctap {

/// A counting Bloom filter (Fan et al., "Summary cache", 2000) with one hash, which is the address
/// itself: one cache line stands for 4 KiB of heap, so it touches memory as locally as the program
/// does. Good for a few thousand addresses: with `n` of them, about n / 32768 of all others may be
/// in it, and the neighbours within 64 bytes.
///
/// Thread-safe and lock-free; runs inside malloc. A counter that was full stays full: that costs
/// looks and is never wrong. Constant-initialized.
class AddressFilter {
 public:
  constexpr AddressFilter() noexcept = default;

  void add(const void* address) noexcept { change(address, 1); }

  /// `address` was added, and is removed once for each time.
  void remove(const void* address) noexcept { change(address, -1); }

  /// False: `address` is not in it.
  [[nodiscard]] bool may_hold(const void* address) const noexcept {
    return counters_[place_of(address)].load(std::memory_order_relaxed) != 0;
  }

 private:
  static constexpr std::size_t kCounters = std::size_t{1} << 15;
  static constexpr std::uint8_t kFull = 0xFF;

  static std::size_t place_of(const void* address) noexcept {
    return (reinterpret_cast<std::uintptr_t>(address) / 64) % kCounters;
  }

  void change(const void* address, int by) noexcept {
    std::atomic<std::uint8_t>& counter = counters_[place_of(address)];
    std::uint8_t count = counter.load(std::memory_order_relaxed);
    while (count != kFull &&
           !counter.compare_exchange_weak(count, static_cast<std::uint8_t>(count + by),
                                          std::memory_order_relaxed)) {
    }
  }

  std::array<std::atomic<std::uint8_t>, kCounters> counters_{};
};

}  // namespace alloctap
