/// What each stack has allocated, estimated from samples.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/zeroed_array.hpp"
#include "alloctap/sample/sampling_view.hpp"

namespace alloctap {

/// Sums of weights by StackId, in chunks that never move. Shared by all threads: samples are few.
/// Thread-safe, lock-free, runs inside malloc. Constant-initialized, never destroyed.
class StackEstimates {
 public:
  constexpr StackEstimates() noexcept = default;

  /// Adds a sample of `bytes` bytes that stands for `weight` allocations. False where the system
  /// has no memory for the sums of this stack.
  [[nodiscard]] bool add(StackId stack, double weight, std::uint64_t bytes) noexcept;

  /// A sample that was added before turned out to be a temporary allocation.
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

  /// Chunks are larger than the arena's blocks, so they come as zeroed pages, which is 0.0.
  Sums* find_or_make(StackId stack) noexcept;

  ZeroedArray<std::atomic<Chunk*>, kChunks> chunks_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/sample/impl/stack_estimates.hpp"
#endif
