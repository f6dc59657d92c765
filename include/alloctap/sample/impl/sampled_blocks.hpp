/// Definitions for sample/sampled_blocks.hpp.
#pragma once

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/sample/sampled_blocks.hpp"

namespace alloctap {

ALLOCTAP_INLINE bool StackEstimates::add(StackId stack, double weight,
                                         std::uint64_t bytes) noexcept {
  Sums* sums = find_or_make(stack);
  if (sums == nullptr) return false;
  sums->allocations.fetch_add(weight, std::memory_order_relaxed);
  sums->allocated_bytes.fetch_add(weight * static_cast<double>(bytes), std::memory_order_relaxed);
  return true;
}

ALLOCTAP_INLINE StackEstimate StackEstimates::of(StackId stack) const noexcept {
  const Sums* sums = find(stack);
  if (sums == nullptr) return {};
  return {.allocations = sums->allocations.load(std::memory_order_relaxed),
          .allocated_bytes = sums->allocated_bytes.load(std::memory_order_relaxed),
          .temporary_allocations = sums->temporary.load(std::memory_order_relaxed)};
}

ALLOCTAP_INLINE StackEstimates::Sums* StackEstimates::find_or_make(StackId stack) noexcept {
  static_assert(sizeof(Chunk) > Arena::kLargestBlock);
  auto& link = chunks_[stack / kPerChunk];
  if (link.load(std::memory_order_acquire) == nullptr) {
    auto* fresh = static_cast<Chunk*>(Arena::allocate(sizeof(Chunk)));
    Chunk* present = nullptr;
    const bool taken = link.compare_exchange_strong(present, fresh, std::memory_order_acq_rel);
    if (!taken && fresh != nullptr) Arena::deallocate(fresh, sizeof(Chunk));
  }
  return find(stack);
}

}  // namespace alloctap
