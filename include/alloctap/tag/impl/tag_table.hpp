/// Definitions for tag/tag_table.hpp.
#pragma once

#include <cstring>
#include <mutex>
#include <new>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/fork_handlers.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

ALLOCTAP_INLINE TagId TagTable::find_or_add(TagId parent, std::string_view name) noexcept {
  name = cut_text(name, kLongestName);
  if (name.empty() || parent >= end_id()) return parent;
  const std::uint64_t hash = hash_of(parent, name);
  const TagId known = find(name, hash).id;
  return known != kNoTag ? known : add(parent, name, hash);
}

ALLOCTAP_INLINE void TagTable::add_overhead(TagId id, std::int64_t bytes) const noexcept {
  if (id == kNoTag || id >= end_id()) return;
  const Entry* entry = entries_[id].load(std::memory_order_acquire);
  entry->overhead.fetch_add(bytes, std::memory_order_relaxed);
}

ALLOCTAP_INLINE std::uint64_t TagTable::overhead(TagId id) const noexcept {
  if (id == kNoTag || id >= end_id()) return 0;
  const Entry* entry = entries_[id].load(std::memory_order_acquire);
  const std::int64_t bytes = entry->overhead.load(std::memory_order_relaxed);
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

ALLOCTAP_INLINE TagTable::Place TagTable::find(std::string_view name,
                                               std::uint64_t hash) const noexcept {
  for (std::size_t at = hash >> 49;; at = (at + 1) % kPlaces) {
    const TagId id = places_[at].load(std::memory_order_acquire);
    if (id == kNoTag) return {at, id};
    const Entry& entry = *entries_[id].load(std::memory_order_relaxed);
    if (entry.hash == hash && entry.text() == name) return {at, id};
  }
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE TagId TagTable::add(TagId parent, std::string_view name,
                                                      std::uint64_t hash) noexcept {
  static_cast<void>(ForkHandlers::ensure_registered());
  // A fork waits until this recording scope ends, so the child finds the lock free.
  const RecordingScope section;
  const std::lock_guard hold(lock_);
  const Place place = find(name, hash);
  if (place.id != kNoTag) return place.id;
  const auto id = static_cast<TagId>(added_.load(std::memory_order_relaxed) + 1);
  void* memory = id > kMaxTags ? nullptr : Arena::allocate(sizeof(Entry) + name.size());
  if (memory == nullptr) return parent;
  auto* entry = ::new (memory) Entry;
  entry->hash = hash;
  entry->parent = parent;
  entry->length = static_cast<std::uint16_t>(name.size());
  std::memcpy(static_cast<void*>(entry + 1), name.data(), name.size());
  entries_[id].store(entry, std::memory_order_release);
  added_.store(id, std::memory_order_release);
  places_[place.at].store(id, std::memory_order_release);
  return id;
}

}  // namespace alloctap
