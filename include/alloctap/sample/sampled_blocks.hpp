/// Data about sampled blocks: a filter of their addresses, and estimates per stack.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/static_objects.hpp"
#include "alloctap/sample/sampling_policy.hpp"

namespace alloctap {

/// A counting Bloom filter (Fan et al., "Summary cache", 2000) of sampled addresses, which rules
/// out most frees by one load. It has one hash, the address modulo 4 GiB, and a counter per KiB. A
/// cache line of counters covers 64 KiB of heap, so a walk over the heap rarely misses the cache.
/// If one address per 512 KiB is in the filter, 1 in 512 of the other addresses is a false
/// positive.
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

/// Estimates per stack: sums of sample weights indexed by StackId, in chunks that never move. All
/// threads share the sums, which is cheap because samples are rare. Thread-safe, lock-free, runs
/// inside malloc. Constant-initialized, never destroyed.
class StackEstimates {
 public:
  constexpr StackEstimates() noexcept = default;

  /// Adds a sample of `bytes` bytes that represents `weight` allocations. Returns false if the sums
  /// of the stack cannot be allocated.
  [[nodiscard]] bool add(StackId stack, double weight, std::uint64_t bytes) noexcept;

  /// Counts a sample as temporary; `add` has already counted it.
  void add_temporary(StackId stack, double weight) noexcept {
    Sums* sums = find(stack);
    if (sums != nullptr) sums->temporary.fetch_add(weight, std::memory_order_relaxed);
  }

  [[nodiscard]] StackEstimate of(StackId stack) const noexcept;

 private:
  struct Sums {
    std::atomic<double> allocations;
    std::atomic<double> allocated_bytes;
    std::atomic<double> temporary;
  };

  static constexpr std::size_t kPerChunk = 8192;
  static constexpr std::size_t kChunks = 32768;
  using Chunk = std::array<Sums, kPerChunk>;

  [[nodiscard]] Sums* find(StackId stack) const noexcept {
    Chunk* chunk = chunks_[stack / kPerChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &(*chunk)[stack % kPerChunk];
  }

  /// A chunk is larger than the arena's largest block, so the arena returns zeroed pages. Zero
  /// bytes represent 0.0.
  Sums* find_or_make(StackId stack) noexcept;

  ZeroedArray<std::atomic<Chunk*>, kChunks> chunks_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/sample/impl/sampled_blocks.hpp"
#endif
