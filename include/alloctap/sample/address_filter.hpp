/// A lock-free Bloom filter of sampled addresses, which rules out most frees by one load.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/runtime/zeroed_array.hpp"

namespace alloctap {

/// A counting Bloom filter (Fan et al., "Summary cache", 2000) with one hash, the address modulo 4
/// GiB, and a counter per KiB. A cache line of counters covers 64 KiB of heap, so a walk over the
/// heap rarely misses the cache. If one address per 512 KiB is in the filter, 1 in 512 of the other
/// addresses is a false positive.
///
/// Thread-safe and lock-free; runs inside malloc. A full counter never changes again, which causes
/// false positives but no false negatives. Constant-initialized.
class AddressFilter {
 public:
  constexpr AddressFilter() noexcept = default;

  void add(const void* address) noexcept { change(address, 1); }

  /// Removes `address`. Call once for each `add`.
  void remove(const void* address) noexcept { change(address, -1); }

  /// Returns false if `address` is not in the filter. If true, it may be a false positive.
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
