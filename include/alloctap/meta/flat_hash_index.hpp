/// A compact pointer index: hash tables over the arena.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "alloctap/guard/arena_allocator.hpp"
#include "alloctap/guard/futex_lock.hpp"
#include "alloctap/guard/late_construction.hpp"
#include "alloctap/meta/pointer_index.hpp"

namespace alloctap {

/// `absl::flat_hash_map` in shards by region of 4 KiB, so that neighbours share a table and threads
/// that use different regions rarely meet at a lock. Pays where blocks are large and far apart, so
/// that shadow memory would lie idle between them; slower than `ShadowIndex` everywhere. See
/// bench/README.md.
class FlatHashIndex {
 public:
  constexpr FlatHashIndex() noexcept = default;

  InsertOutcome insert(const void* pointer, const BlockRecord& record) noexcept {
    Shard& shard = shard_of(pointer);
    const std::lock_guard hold(shard.lock);
    Map& map = shard.map();
    if (!make_room(shard, map)) return {.kept = false, .replaced = {}};
    const auto [place, fresh] = map.try_emplace(pointer, record);
    if (fresh) return {};
    return {.kept = true, .replaced = std::exchange(place->second, record)};
  }

  BlockRecord take(const void* pointer) noexcept {
    Shard& shard = shard_of(pointer);
    const std::lock_guard hold(shard.lock);
    Map& map = shard.map();
    const auto place = map.find(pointer);
    if (place == map.end()) return {};
    const BlockRecord record = place->second;
    map.erase(place);
    return record;
  }

  /// The record at `pointer`, left in place; `stack` is `kNoStackId` where there is none.
  BlockRecord look(const void* pointer) noexcept {
    Shard& shard = shard_of(pointer);
    const std::lock_guard hold(shard.lock);
    const auto place = shard.map().find(pointer);
    return place == shard.map().end() ? BlockRecord{} : place->second;
  }

  /// Only under a lock could it tell.
  bool may_hold(const void*) noexcept { return true; }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (Shard& shard : shards_) {
      const std::lock_guard hold(shard.lock);
      for (const auto& [pointer, record] : shard.map()) visit(pointer, record);
    }
  }

 private:
  using Allocator = ArenaAllocator<std::pair<const void* const, BlockRecord>>;
  using Map = absl::flat_hash_map<const void*, BlockRecord, absl::Hash<const void*>,
                                  std::equal_to<const void*>, Allocator>;

  /// A map that draws on the reserve beside it.
  struct ReservingMap {
    ArenaReserve reserve;
    Map map{Allocator(&reserve)};
  };

  struct Shard {
    FutexLock lock;
    LateConstruction<ReservingMap> tables;
    Map& map() noexcept { return tables.get().map; }
  };

  static constexpr std::size_t kShards = 256;
  static constexpr std::size_t kFirstCapacity = 15;

  Shard& shard_of(const void* pointer) noexcept {
    const std::uint64_t region = reinterpret_cast<std::uintptr_t>(pointer) >> 12;
    return shards_[(region * 0x9E3779B97F4A7C15) >> 56];
  }

  /// Grows the map here and now, from memory that is at hand, so that inserting never grows it. The
  /// map stays at most half full: then it also finds room for records among deleted ones.
  static bool make_room(Shard& shard, Map& map) noexcept {
    if ((map.size() + 1) * 2 <= map.capacity()) return true;
    const std::size_t capacity = map.capacity() == 0 ? kFirstCapacity : map.capacity() * 2 + 1;
    constexpr std::size_t kControlBytes = 64;
    const std::size_t bytes =
        capacity * (sizeof(Map::value_type) + 1) + kControlBytes + Allocator::kHeaderBytes;
    if (!shard.tables.get().reserve.prepare(bytes)) return false;
    map.rehash(capacity);
    shard.tables.get().reserve.release();
    return true;
  }

  std::array<Shard, kShards> shards_{};
};

static_assert(PointerIndex<FlatHashIndex>);

}  // namespace alloctap
