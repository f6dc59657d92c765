/// A shadow index with the widest granule that the allocator allows.
#pragma once

#include <atomic>
#include <cstddef>

#include "alloctap/macros.hpp"
#include "alloctap/meta/pointer_index.hpp"
#include "alloctap/meta/shadow_index.hpp"

namespace alloctap {

/// A `BasicShadowIndex<32>` if `set_min_block_spacing` announced at least 32 bytes between block
/// addresses (as in glibc); otherwise a `ShadowIndex`, whose functions are not inlined. Spacing 32
/// halves the memory and improves cache locality. Thread-safe, runs inside malloc.
class SpacedShadowIndex {
  using Wide = BasicShadowIndex<32>;

 public:
  static constexpr IndexFeatures features{
      .leaves_errno_alone = true, .expect = true, .set_min_block_spacing = true};

  constexpr SpacedShadowIndex() noexcept = default;

  /// Announces that blocks begin at multiples of 16, at least `bytes` apart. Only the first call
  /// has an effect, because stored records do not move. Must precede the first `insert`; no other
  /// call may run concurrently.
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

  /// `Expected`, `expect` and `try_insert` always use `wide_`. If `wide_` is not in use, it has no
  /// words, so its fast path always fails.
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
