/// The bodies of stack/stack_table.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <span>

#include "alloctap/event/internal_code.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/event/stack_owner.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/stack/stack_storage.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/stack/stack_table_entry.hpp"

namespace alloctap {

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
