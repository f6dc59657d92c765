/// A pointer index that also records the age of each block.
#pragma once

#include <algorithm>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/meta/pointer_index.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/runtime/shadow_memory.hpp"

namespace alloctap {

/// Adds the allocation time of each block to `Index`, for `LiveBlock::age_ns`. The times are in
/// shadow memory, at most 1/4 as large as the heap. An allocation touches one more cache line and
/// reads the coarse clock; a free costs nothing. A reallocation resets the age, even if it fails.
///
/// The resolution is about 4 ms; ages wrap around at 208 days. Runs inside malloc.
/// Constant-initialized, never destroyed.
template <PointerIndex Index>
class AgedIndex {
 public:
  static constexpr IndexFeatures features{.expect = features_of<IndexFeatures, Index>().expect,
                                          .age_ns = true};

  constexpr AgedIndex() noexcept = default;

  ALLOCTAP_ALWAYS_INLINE InsertOutcome insert(const void* pointer,
                                              const BlockRecord& record) noexcept {
    note_time(pointer);
    return index_.insert(pointer, record);
  }

  ALLOCTAP_ALWAYS_INLINE auto expect(const void* pointer) noexcept
    requires(features.expect)
  {
    return index_.expect(pointer);
  }

  template <class Expected>
  ALLOCTAP_ALWAYS_INLINE bool try_insert(const void* pointer, const BlockRecord& record,
                                         Expected expected) noexcept
    requires(features.expect)
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

  /// Returns the age of the live block at `pointer` in nanoseconds. Returns -1 if the address is no
  /// multiple of 16, or if memory for the time ran out.
  [[nodiscard]] std::int64_t age_ns(const void* pointer) noexcept {
    if (!ShadowMemory::covers(pointer)) return -1;
    const ShadowMemory::Word* word = times_.find(pointer);
    const std::uint32_t time = word == nullptr ? 0 : word->load(std::memory_order_relaxed);
    return time == 0 ? -1 : std::int64_t{now() - time} << kStepBits;
  }

 private:
  static constexpr int kStepBits = 22;

  /// Returns the current time in steps of 2^`kStepBits` ns. Never 0; wraps around.
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
