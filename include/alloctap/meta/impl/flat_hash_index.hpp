/// Definitions for meta/flat_hash_index.hpp.
#pragma once

#include <new>

#include "alloctap/macros.hpp"
#include "alloctap/meta/flat_hash_index.hpp"

namespace alloctap {

ALLOCTAP_INLINE bool FlatHashTable::grow() noexcept {
  const std::size_t capacity = next_capacity();
  auto* slots = static_cast<Slot*>(allocate(capacity * sizeof(Slot)));
  if (slots == nullptr) return false;
  for (std::size_t i = 0; i < capacity; ++i) ::new (slots + i) Slot;
  for (std::size_t i = 0; i < capacity_; ++i) {
    if (slots_[i].word != 0) free_slot(slots, capacity, slots_[i].pointer) = slots_[i];
  }
  if (slots_ != nullptr) deallocate(slots_, capacity_ * sizeof(Slot));
  slots_ = slots;
  capacity_ = capacity;
  return true;
}

ALLOCTAP_INLINE bool FlatHashTable::keep_large(const void* pointer,
                                               const BlockRecord& record) noexcept {
  if (!is_large(record)) return true;
  void* memory = Arena::allocate(sizeof(Large));
  if (memory == nullptr) return false;
  large_ = ::new (memory) Large{pointer, record.size, large_};
  return true;
}

ALLOCTAP_INLINE void FlatHashTable::forget_large(const void* pointer) noexcept {
  Large** link = &large_;
  while ((*link)->pointer != pointer) link = &(*link)->next;
  Large* gone = std::exchange(*link, (*link)->next);
  Arena::deallocate(gone, sizeof(Large));
}

}  // namespace alloctap
