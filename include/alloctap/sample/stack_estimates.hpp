/// Estimated allocations per stack, from samples.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/zeroed_array.hpp"
#include "alloctap/sample/sampling_view.hpp"

namespace alloctap {

/// Sums of sample weights indexed by StackId, in chunks that never move. All threads share the
/// sums, which is cheap because samples are rare. Thread-safe, lock-free, runs inside malloc.
/// Constant-initialized, never destroyed.
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
#include "alloctap/sample/impl/stack_estimates.hpp"
#endif
