/// Definitions for record/thread_stats.hpp.
#pragma once

#include <algorithm>
#include <new>

#include "alloctap/record/thread_stats.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

ALLOCTAP_NOINLINE ALLOCTAP_INLINE StackTotals::Entry* StackTotals::add(const StackHash& hash,
                                                                       StackId stack) noexcept {
  const std::size_t number = used_.load(std::memory_order_relaxed) + 1;
  if (number > mask_ && !grow(next_capacity())) return nullptr;
  Entry& entry = entries_.load(std::memory_order_relaxed)[number];
  entry = {.hash = hash.first, .check = check_of(hash), .stack = stack};
  slots_.insert(hash.first, static_cast<std::uint32_t>(number));
  used_.store(number, std::memory_order_release);
  return &entry;
}

ALLOCTAP_INLINE bool StackTotals::grow(std::size_t capacity) noexcept {
  const std::size_t bytes = capacity * sizeof(Entry);
  auto* const entries = static_cast<Entry*>(Arena::allocate_dense_zeroed(bytes));
  if (entries == nullptr || !slots_.restart_with(2 * capacity)) {
    if (entries != nullptr) Arena::deallocate(entries, bytes);
    return false;
  }
  Entry* const old = entries_.load(std::memory_order_relaxed);
  const std::size_t old_capacity = mask_ + 1;
  std::copy(old, old + old_capacity, entries);
  for (std::size_t i = 1; i < old_capacity; ++i) {
    slots_.insert(entries[i].hash, static_cast<std::uint32_t>(i));
  }
  entries_.store(entries, std::memory_order_release);
  mask_ = capacity - 1;
  // If the world is stopped here, this thread was suspended past the timeout, so another thread may
  // be reading the old array. Leaks the array in that case.
  if (old != first_.data() && WorldGate::is_open()) {
    Arena::deallocate(old, old_capacity * sizeof(Entry));
  }
  return true;
}

ALLOCTAP_INLINE StackTotals::Entry* StackTotals::find_or_add(const StackHash& hash,
                                                             StackId stack) noexcept {
  Entry* entry = find(hash);
  return entry != nullptr ? entry : add(hash, stack);
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE FreedTotals::Entry* FreedTotals::make_entry(
    StackId stack) noexcept {
  const std::size_t piece = stack / kPiece;
  if (piece >= pieces_.size() && !pieces_.resize(piece + 1)) return nullptr;
  void* memory = Arena::allocate(sizeof(Piece));
  if (memory == nullptr) return nullptr;
  pieces_[piece] = ::new (memory) Piece{};
  return &(*pieces_[piece])[stack % kPiece];
}

}  // namespace alloctap
