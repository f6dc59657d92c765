/// What each stack has allocated since the start.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/guard/arena.hpp"

namespace alloctap {

/// The cumulative numbers of one stack, or of all.
struct AllocationTotals {
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t temporary_allocations = 0;
};

/// Counters by StackId, in chunks that never move. Thread-safe, lock-free, runs inside malloc.
class StackTotals {
 public:
  constexpr StackTotals() noexcept = default;

  /// False where the system has no memory for the counters of this stack.
  [[nodiscard]] bool count_allocation(StackId stack, std::uint64_t bytes) noexcept {
    Counters* counters = find_or_make(stack);
    if (counters == nullptr) return false;
    counters->allocations.fetch_add(1, std::memory_order_relaxed);
    counters->allocated_bytes.fetch_add(bytes, std::memory_order_relaxed);
    return true;
  }

  /// Precondition: an allocation of `stack` was counted before.
  void count_temporary(StackId stack) noexcept {
    Counters* counters = find(stack);
    if (counters != nullptr) counters->temporary.fetch_add(1, std::memory_order_relaxed);
  }

  [[nodiscard]] AllocationTotals of(StackId stack) const noexcept {
    const Counters* counters = find(stack);
    if (counters == nullptr) return {};
    return {.allocations = counters->allocations.load(std::memory_order_relaxed),
            .allocated_bytes = counters->allocated_bytes.load(std::memory_order_relaxed),
            .temporary_allocations = counters->temporary.load(std::memory_order_relaxed)};
  }

 private:
  struct Counters {
    std::atomic<std::uint64_t> allocations;
    std::atomic<std::uint64_t> allocated_bytes;
    std::atomic<std::uint64_t> temporary;
  };

  static constexpr std::size_t kPerChunk = 8192;
  static constexpr std::size_t kChunks = 32768;
  using Chunk = std::array<Counters, kPerChunk>;

  [[nodiscard]] Counters* find(StackId stack) const noexcept {
    Chunk* chunk = chunks_[stack / kPerChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &(*chunk)[stack % kPerChunk];
  }

  Counters* find_or_make(StackId stack) noexcept {
    auto& link = chunks_[stack / kPerChunk];
    Chunk* chunk = link.load(std::memory_order_acquire);
    if (chunk == nullptr) chunk = make(link);
    return chunk == nullptr ? nullptr : &(*chunk)[stack % kPerChunk];
  }

  /// Chunks are larger than the arena's blocks, so they come as zeroed pages.
  static Chunk* make(std::atomic<Chunk*>& link) noexcept {
    static_assert(sizeof(Chunk) > Arena::kLargestBlock);
    auto* fresh = static_cast<Chunk*>(Arena::allocate(sizeof(Chunk)));
    Chunk* present = nullptr;
    if (fresh == nullptr ||
        link.compare_exchange_strong(present, fresh, std::memory_order_acq_rel)) {
      return fresh;
    }
    Arena::deallocate(fresh, sizeof(Chunk));
    return present;
  }

  std::array<std::atomic<Chunk*>, kChunks> chunks_{};
};

}  // namespace alloctap
