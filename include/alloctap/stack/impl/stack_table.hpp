/// Definitions for stack/stack_table.hpp.
#pragma once

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "alloctap/event/address_range.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/stack/stack_table.hpp"

namespace alloctap {

ALLOCTAP_INLINE const StackTableEntry* StackStorage::keep(const StackHash& hash,
                                                          std::span<const std::uintptr_t> frames,
                                                          StackOwner owner) noexcept {
  const std::size_t cuts = frames.empty() ? 0 : (frames.size() - 1) / kPartFrames;
  if (cuts > cut_capacity_ && !make_room_for_cuts(cuts)) return nullptr;
  const std::size_t same = parts_as_before(frames, cuts);
  // `hash_parts` overwrites the elements of `cuts_` from `same` on, which are invalid if memory
  // runs out.
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

ALLOCTAP_INLINE void StackTable::retire(StackId id) noexcept {
  const std::lock_guard hold(lock_);
  const StackTableEntry* stack = slot(id).load(std::memory_order_relaxed);
  if (stack->hash == hash_of_retired(id)) return;
  const StackTableEntry* retired = storage_.keep_under(hash_of_retired(id), *stack);
  if (retired != nullptr) slot(id).store(retired, std::memory_order_release);
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE StackId StackTable::add(const StackHash& hash,
                                                          std::span<const std::uintptr_t> frames,
                                                          StackOwner owner) noexcept {
  const std::lock_guard hold(lock_);
  const StackId known = find(buckets_.load(std::memory_order_relaxed), hash);
  if (known != kNoStackId) return known;
  const StackId id = kFirstStack + added_.load(std::memory_order_relaxed);
  if (id == kEndOfIds || !make_room(id)) return kUnknownStack;
  const StackTableEntry* stack = storage_.keep(hash, frames, owner);
  if (stack == nullptr) return kUnknownStack;
  slot(id).store(stack, std::memory_order_release);
  added_.store(id + 1 - kFirstStack, std::memory_order_release);
  place(*buckets_.load(std::memory_order_relaxed), hash, id);
  return id;
}

ALLOCTAP_INLINE bool StackTable::make_room(StackId id) noexcept {
  auto& chunk = chunks_[id / kSlotsPerChunk];
  if (chunk.load(std::memory_order_relaxed) == nullptr) {
    chunk.store(static_cast<Slot*>(Arena::allocate(kSlotsPerChunk * sizeof(Slot))),
                std::memory_order_release);
    if (chunk.load(std::memory_order_relaxed) == nullptr) return false;
  }
  const Buckets* buckets = buckets_.load(std::memory_order_relaxed);
  return (buckets != nullptr && (std::size_t{id} + 1) * 4 <= buckets->mask * 3) || grow();
}

ALLOCTAP_INLINE bool StackTable::grow() noexcept {
  const Buckets* old = buckets_.load(std::memory_order_relaxed);
  Buckets* buckets = make_buckets(old == nullptr ? kFirstCapacity : (old->mask + 1) * 4);
  if (buckets == nullptr) return false;
  const StackId end = end_id();
  for (StackId id = kFirstStack; id < end; ++id) {
    place(*buckets, slot(id).load(std::memory_order_relaxed)->hash, id);
  }
  buckets_.store(buckets, std::memory_order_release);
  return true;
}

ALLOCTAP_INLINE StackTable::Buckets* StackTable::make_buckets(std::size_t capacity) noexcept {
  const std::size_t bytes = capacity * sizeof(std::uint64_t);
  void* buckets = Arena::allocate(sizeof(Buckets));
  void* entries = Arena::allocate_table(bytes);
  if (buckets != nullptr && entries != nullptr) {
    return ::new (buckets)
        Buckets{.mask = capacity - 1, .entries = static_cast<std::atomic<std::uint64_t>*>(entries)};
  }
  if (buckets != nullptr) Arena::deallocate(buckets, sizeof(Buckets));
  if (entries != nullptr) Arena::deallocate(entries, bytes);
  return nullptr;
}

ALLOCTAP_INLINE StackId StackTable::intern_program(const StackHash& hash,
                                                   std::span<const std::uintptr_t> frames,
                                                   StackOwner owner) noexcept {
  const auto is_internal = [](std::uintptr_t frame) {
    return internal_code.contains(call_address(frame));
  };
  if (std::none_of(frames.begin(), frames.end(), is_internal)) return intern(hash, frames, owner);
  auto* const left = static_cast<std::uintptr_t*>(Arena::allocate(frames.size_bytes()));
  if (left == nullptr) return kUnknownStack;
  auto* const end = std::remove_copy_if(frames.begin(), frames.end(), left, is_internal);
  const StackId id = intern(hash, {left, end}, owner);
  Arena::deallocate(left, frames.size_bytes());
  return id;
}

}  // namespace alloctap
