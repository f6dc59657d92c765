/// A pointer index that knows how old its blocks are.
#pragma once

#include <algorithm>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/meta/pointer_index.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/runtime/shadow_memory.hpp"

namespace alloctap {

/// `Index`, and beside it the time at which each block came, for `LiveBlock::age_ns`. A time is a
/// word of shadow memory: up to a quarter of the heap again, and one more line of cache and a
/// reading of the coarse clock at each allocation; nothing at a free. A block is as old as its last
/// reallocation, one that failed too.
///
/// Times are told in steps of about 4 ms. An age of more than 208 days appears as the rest.
/// Constant-initialized, never destroyed.
template <PointerIndex Index>
class AgedIndex {
 public:
  constexpr AgedIndex() noexcept = default;

  ALLOCTAP_ALWAYS_INLINE InsertOutcome insert(const void* pointer,
                                              const BlockRecord& record) noexcept {
    note_time(pointer);
    return index_.insert(pointer, record);
  }

  ALLOCTAP_ALWAYS_INLINE auto expect(const void* pointer) noexcept
    requires requires(Index& index) { index.expect(pointer); }
  {
    return index_.expect(pointer);
  }

  template <class Expected>
  ALLOCTAP_ALWAYS_INLINE bool try_insert(const void* pointer, const BlockRecord& record,
                                         Expected expected) noexcept
    requires requires(Index& index) { index.try_insert(pointer, record, expected); }
  {
    if (!index_.try_insert(pointer, record, expected)) return false;
    note_time(pointer);
    return true;
  }

  ALLOCTAP_ALWAYS_INLINE BlockRecord take(const void* pointer) noexcept {
    return index_.take(pointer);
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    index_.for_each(visit);
  }

  /// For how long the block at `pointer`, a live one, has been there, in nanoseconds; -1 where it
  /// is not known: of blocks at odd addresses, and where the system had no memory for the time.
  [[nodiscard]] std::int64_t age_ns(const void* pointer) noexcept {
    if (!ShadowMemory::covers(pointer)) return -1;
    const ShadowMemory::Word* word = times_.find(pointer);
    const std::uint32_t time = word == nullptr ? 0 : word->load(std::memory_order_relaxed);
    return time == 0 ? -1 : std::int64_t{now() - time} << kStepBits;
  }

 private:
  static constexpr int kStepBits = 22;

  /// Never 0. Wraps around.
  static std::uint32_t now() noexcept {
    return std::max(static_cast<std::uint32_t>(os::coarse_monotonic_ns() >> kStepBits),
                    std::uint32_t{1});
  }

  ALLOCTAP_ALWAYS_INLINE void note_time(const void* pointer) noexcept {
    if (!ShadowMemory::covers(pointer)) [[unlikely]] {
      return;
    }
    ShadowMemory::Word* word = times_.find_made(pointer);
    if (word == nullptr) [[unlikely]] {
      word = times_.make(pointer);
      if (word == nullptr) return;
    }
    word->store(now(), std::memory_order_relaxed);
  }

  Index index_;
  ShadowMemory times_;
};

static_assert(PointerIndex<AgedIndex<FlatHashIndex>>);

}  // namespace alloctap
