/// Shadow memory as small as the allocator allows.
#pragma once

#include <atomic>
#include <cstddef>

#include "alloctap/macros.hpp"
#include "alloctap/meta/pointer_index.hpp"
#include "alloctap/meta/shadow_index.hpp"

namespace alloctap {

/// `BasicShadowIndex<32>` where `set_min_block_spacing` has told that blocks begin at least 32
/// bytes apart, as those of glibc do: half the memory of a `ShadowIndex`, and as many more blocks
/// whose words are near. Else a `ShadowIndex`, behind a call. Thread-safe, runs inside malloc.
class SpacedShadowIndex {
  using Wide = BasicShadowIndex<32>;

 public:
  static constexpr bool leaves_errno_alone = true;

  constexpr SpacedShadowIndex() noexcept = default;

  /// Blocks will begin at multiples of 16 that are at least `bytes` bytes apart. Only the first
  /// call counts: what is kept stays where it is. Before the first `insert`, while nobody else uses
  /// this.
  void set_min_block_spacing(std::size_t bytes) noexcept {
    if (!decided_) is_wide_.store(bytes >= 32, std::memory_order_relaxed);
    decided_ = true;
  }

  ALLOCTAP_ALWAYS_INLINE InsertOutcome insert(const void* pointer,
                                              const BlockRecord& record) noexcept {
    if (is_wide()) [[likely]] {
      return wide_.insert(pointer, record);
    }
    return insert_narrow(pointer, record);
  }

  /// As those of `BasicShadowIndex`. No question which index is used: where it is not the wide one,
  /// that has no word for any block.
  using Expected = Wide::Expected;

  ALLOCTAP_ALWAYS_INLINE Expected expect(const void* pointer) noexcept {
    return wide_.expect(pointer);
  }

  ALLOCTAP_ALWAYS_INLINE bool try_insert(const void* pointer, const BlockRecord& record,
                                         Expected expected) noexcept {
    return wide_.try_insert(pointer, record, expected);
  }

  ALLOCTAP_ALWAYS_INLINE BlockRecord take(const void* pointer) noexcept {
    return wide_.take_or(pointer, [&] { return take_otherwise(pointer); });
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    if (is_wide()) return wide_.for_each(visit);
    narrow_.for_each(visit);
  }

 private:
  [[nodiscard]] bool is_wide() const noexcept { return is_wide_.load(std::memory_order_relaxed); }

  ALLOCTAP_NOINLINE InsertOutcome insert_narrow(const void* pointer, BlockRecord record) noexcept {
    return narrow_.insert(pointer, record);
  }

  ALLOCTAP_NOINLINE BlockRecord take_otherwise(const void* pointer) noexcept {
    return is_wide() ? wide_.take_unusual(pointer) : narrow_.take(pointer);
  }

  Wide wide_;
  ShadowIndex narrow_;
  std::atomic<bool> is_wide_{false};
  bool decided_ = false;
};

static_assert(PointerIndex<SpacedShadowIndex>);

}  // namespace alloctap
