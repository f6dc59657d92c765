/// The container that trackers use unless told otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/meta/meta_container.hpp"
#include "alloctap/meta/pointer_index.hpp"

namespace alloctap {

/// A pointer index and mappings. Constant-initialized, never destroyed.
template <PointerIndex Index>
class MemoryMetaContainer {
 public:
  static constexpr bool leaves_errno_alone = requires { requires Index::leaves_errno_alone; };

  constexpr MemoryMetaContainer() noexcept = default;

  ALLOCTAP_ALWAYS_INLINE InsertOutcome insert(const void* pointer,
                                              const BlockRecord& record) noexcept {
    return index_.insert(pointer, record);
  }

  ALLOCTAP_ALWAYS_INLINE BlockRecord take(const void* pointer) noexcept {
    return index_.take(pointer);
  }
  /// For an index that can use the time until `try_insert`.
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
    return index_.try_insert(pointer, record, expected);
  }

  /// For an index that asks for it.
  void set_min_block_spacing(std::size_t bytes) noexcept
    requires requires(Index& index) { index.set_min_block_spacing(bytes); }
  {
    index_.set_min_block_spacing(bytes);
  }

  /// For an index that knows it.
  [[nodiscard]] std::int64_t age_ns(const void* pointer) noexcept
    requires requires(Index& index) { index.age_ns(pointer); }
  {
    return index_.age_ns(pointer);
  }

  MappingContainer& mappings() noexcept { return mappings_; }

  template <class Visit>
  void for_each_live(Visit&& visit) {
    index_.for_each(visit);
  }

 private:
  Index index_;
  MappingContainer mappings_;
};

}  // namespace alloctap
