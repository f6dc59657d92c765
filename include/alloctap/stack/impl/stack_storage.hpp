/// The bodies of stack/stack_storage.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/stack/stack_storage.hpp"
#include "alloctap/stack/stack_table_entry.hpp"

namespace alloctap {

ALLOCTAP_INLINE const StackTableEntry* StackStorage::keep(const StackHash& hash,
                                                          std::span<const std::uintptr_t> frames,
                                                          StackOwner owner) noexcept {
  const std::size_t cuts = frames.empty() ? 0 : (frames.size() - 1) / kPartFrames;
  if (cuts > cut_capacity_ && !make_room_for_cuts(cuts)) return nullptr;
  const std::size_t same = parts_as_before(frames, cuts);
  // `hash_parts` overwrites elements from `same` on. If memory runs out, these elements are
  // invalid.
  cuts_before_ = same;
  hash_parts(frames, same, cuts);
  // Searches from the innermost part, because all parts outside a stored part are stored, too.
  std::size_t known = cuts;
  const StackTableEntry* outer = nullptr;
  while (known > same && (outer = find_part(cuts_[known - 1].hash)) == nullptr) --known;
  if (known == same && same > 0) outer = cuts_[same - 1].part;
  for (; known < cuts; ++known) {
    outer = add_part(cuts_[known].hash, frames.last((known + 1) * kPartFrames), outer);
    if (outer == nullptr) return nullptr;
  }
  remember_parts(outer, cuts);
  return store(hash, frames, outer, owner);
}

ALLOCTAP_INLINE const StackTableEntry* StackStorage::keep_under(
    const StackHash& hash, const StackTableEntry& stack) noexcept {
  StackTableEntry* copy = make_room_for(stack.own());
  if (copy == nullptr) return nullptr;
  *copy = stack;
  copy->hash = hash;
  std::memcpy(static_cast<void*>(copy + 1), stack.frames(), stack.own() * sizeof(std::uintptr_t));
  return copy;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE bool StackStorage::make_room_for_cuts(
    std::size_t count) noexcept {
  if (cuts_ != nullptr) Arena::deallocate(cuts_, cut_capacity_ * sizeof(Cut));
  cuts_ = static_cast<Cut*>(Arena::allocate(count * sizeof(Cut)));
  cut_capacity_ = cuts_ == nullptr ? 0 : count;
  cuts_before_ = 0;
  return cuts_ != nullptr;
}

ALLOCTAP_INLINE std::size_t StackStorage::parts_as_before(std::span<const std::uintptr_t> frames,
                                                          std::size_t cuts) const noexcept {
  constexpr std::size_t kBytes = kPartFrames * sizeof(std::uintptr_t);
  const std::uintptr_t* part = frames.data() + frames.size();
  const std::size_t most = std::min(cuts, cuts_before_);
  for (std::size_t cut = 0; cut < most; ++cut) {
    part -= kPartFrames;
    if (std::memcmp(part, cuts_[cut].part->frames(), kBytes) != 0) return cut;
  }
  return most;
}

ALLOCTAP_INLINE void StackStorage::hash_parts(std::span<const std::uintptr_t> frames,
                                              std::size_t same, std::size_t cuts) noexcept {
  StackHash hash = same == 0 ? StackHash{} : cuts_[same - 1].hash;
  const std::uintptr_t* frame = frames.data() + frames.size() - same * kPartFrames;
  for (std::size_t cut = same; cut < cuts; ++cut) {
    for (std::size_t i = 0; i < kPartFrames; ++i) hash = hash.with(*--frame);
    cuts_[cut].hash = hash;
    if (capacity_ != 0) ALLOCTAP_PREFETCH(parts_ + (hash.first & (capacity_ - 1)));
  }
}

ALLOCTAP_INLINE void StackStorage::remember_parts(const StackTableEntry* innermost,
                                                  std::size_t cuts) noexcept {
  for (std::size_t cut = cuts; cut > cuts_before_; --cut, innermost = innermost->outer) {
    cuts_[cut - 1].part = innermost;
  }
  cuts_before_ = cuts;
}

ALLOCTAP_INLINE const StackTableEntry* StackStorage::add_part(
    const StackHash& hash, std::span<const std::uintptr_t> frames,
    const StackTableEntry* outer) noexcept {
  if ((part_count_ + 1) * 2 > capacity_ && !grow()) return nullptr;
  const StackTableEntry* part = store(hash, frames, outer);
  if (part == nullptr) return nullptr;
  *place_of(parts_, capacity_, hash) = PartPointer(part);
  ++part_count_;
  return part;
}

ALLOCTAP_INLINE StackStorage::PartPointer* StackStorage::place_of(PartPointer* parts,
                                                                  std::size_t capacity,
                                                                  const StackHash& hash) noexcept {
  std::size_t at = hash.first & (capacity - 1);
  while (!parts[at].empty() && !parts[at].is_of(hash)) at = (at + 1) & (capacity - 1);
  return &parts[at];
}

ALLOCTAP_INLINE bool StackStorage::grow() noexcept {
  const std::size_t capacity = capacity_ == 0 ? kFirstCapacity : capacity_ * 2;
  auto* parts = static_cast<PartPointer*>(Arena::allocate(capacity * sizeof(PartPointer)));
  if (parts == nullptr) return false;
  for (std::size_t i = 0; i < capacity; ++i) ::new (parts + i) PartPointer;
  for (std::size_t i = 0; i < capacity_; ++i) {
    if (!parts_[i].empty()) *place_of(parts, capacity, parts_[i].get()->hash) = parts_[i];
  }
  if (parts_ != nullptr) Arena::deallocate(parts_, capacity_ * sizeof(PartPointer));
  parts_ = parts;
  capacity_ = capacity;
  return true;
}

ALLOCTAP_INLINE const StackTableEntry* StackStorage::store(const StackHash& hash,
                                                           std::span<const std::uintptr_t> frames,
                                                           const StackTableEntry* outer,
                                                           StackOwner owner) noexcept {
  const std::size_t own = frames.size() - (outer == nullptr ? 0 : outer->depth);
  StackTableEntry* stack = make_room_for(own);
  if (stack == nullptr) return nullptr;
  *stack = {.hash = hash,
            .outer = outer,
            .owner = owner,
            .depth = static_cast<std::uint32_t>(frames.size())};
  if (own == 0) return stack;
  std::memcpy(static_cast<void*>(stack + 1), frames.data(), own * sizeof(std::uintptr_t));
  return stack;
}

ALLOCTAP_INLINE StackTableEntry* StackStorage::make_room_for(std::size_t own) noexcept {
  const std::size_t bytes = sizeof(StackTableEntry) + own * sizeof(std::uintptr_t);
  if (bytes > chunk_left_ && !begin_chunk()) return nullptr;
  auto* stack = ::new (chunk_) StackTableEntry;
  chunk_ += bytes;
  chunk_left_ -= bytes;
  return stack;
}

ALLOCTAP_INLINE bool StackStorage::begin_chunk() noexcept {
  const std::size_t bytes = small_chunks_ < kSmallChunks ? kSmallChunk : kLargeChunk;
  chunk_ = static_cast<std::byte*>(Arena::allocate(bytes));
  chunk_left_ = chunk_ == nullptr ? 0 : bytes;
  if (bytes == kSmallChunk) ++small_chunks_;
  return chunk_ != nullptr;
}

}  // namespace alloctap
