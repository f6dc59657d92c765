/// A compact pointer index: sharded hash tables in the arena.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "alloctap/meta/flat_hash_table.hpp"
#include "alloctap/meta/pointer_index.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

/// `FlatHashTable`s sharded by 4 KiB region, so that threads that use different regions rarely
/// contend for a lock. Choose it if memory matters more than time, and blocks are large or sparse:
/// it needs less memory than `ShadowIndex` if there are at least 80 bytes of heap per block. Always
/// slower than `ShadowIndex`; see bench/README.md. Thread-safe; runs inside malloc.
class FlatHashIndex {
 public:
  static constexpr IndexFeatures features{.leaves_errno_alone = true};

  constexpr FlatHashIndex() noexcept = default;

  InsertOutcome insert(const void* pointer, const BlockRecord& record) noexcept {
    Shard& shard = shard_of(pointer);
    const std::lock_guard hold(shard.lock);
    return shard.table.insert(pointer, record);
  }

  BlockRecord take(const void* pointer) noexcept {
    Shard& shard = shard_of(pointer);
    const std::lock_guard hold(shard.lock);
    return shard.table.take(pointer);
  }

  /// Returns the record at `pointer` without removing it; `stack` is `kNoStackId` if unknown.
  BlockRecord look(const void* pointer) noexcept {
    Shard& shard = shard_of(pointer);
    const std::lock_guard hold(shard.lock);
    return shard.table.look(pointer);
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (Shard& shard : shards_) {
      const std::lock_guard hold(shard.lock);
      shard.table.for_each(visit);
    }
  }

 private:
  struct Shard {
    FutexLock lock;
    FlatHashTable table;
  };

  static constexpr std::size_t kShards = 256;

  Shard& shard_of(const void* pointer) noexcept {
    const std::uint64_t region = reinterpret_cast<std::uintptr_t>(pointer) >> 12;
    return shards_[(region * 0x9E3779B97F4A7C15) >> 56];
  }

  std::array<Shard, kShards> shards_{};
};

static_assert(PointerIndex<FlatHashIndex>);

}  // namespace alloctap
