/// Tells addresses that nobody recorded from those that somebody may have, with one load.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/runtime/zeroed_array.hpp"

namespace alloctap {

/// A counting Bloom filter (Fan et al., "Summary cache", 2000) with one hash, which is the address
/// itself without what is above 4 GiB: each KiB has a counter, and one cache line of them stands
/// for 64 KiB of heap, so that a program which goes through its heap hardly waits for them. Where a
/// heap has an address in it for each 512 KiB, it may hold one in 512 of the others.
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
  static constexpr int kGranuleBits = 10;
  static constexpr std::size_t kCounters = std::size_t{1} << (32 - kGranuleBits);
  static constexpr std::uint8_t kFull = 0xFF;

  static std::size_t place_of(const void* address) noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(address)) >> kGranuleBits;
  }

  void change(const void* address, int by) noexcept {
    std::atomic<std::uint8_t>& counter = counters_[place_of(address)];
    std::uint8_t count = counter.load(std::memory_order_relaxed);
    while (count != kFull &&
           !counter.compare_exchange_weak(count, static_cast<std::uint8_t>(count + by),
                                          std::memory_order_relaxed)) {
    }
  }

  ZeroedArray<std::atomic<std::uint8_t>, kCounters> counters_;
};

}  // namespace alloctap
