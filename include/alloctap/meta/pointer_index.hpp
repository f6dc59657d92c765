/// The contract of pointer indexes: maps from block addresses to records.
#pragma once

#include <concepts>

#include "alloctap/event/allocation_event.hpp"

namespace alloctap {

/// The result of `insert`.
struct InsertOutcome {
  /// False if the record was not stored because memory ran out.
  bool kept = true;
  /// The record that was replaced; `stack` is `kNoStackId` if the address was unknown.
  BlockRecord replaced;
};

/// Maps the address of a live block to its record. The functions are thread-safe and run inside
/// malloc. Calls for one address are never concurrent, unless the program frees a block on two
/// threads at once. Then both calls may return the record, but nothing else may break.
///
/// `take` removes and returns a record; its `stack` is `kNoStackId` if the address is unknown.
/// `for_each` visits `(const void*, BlockRecord)`; at least each record that exists during the
/// whole call. The `stack` of a stored record is never `kNoStackId`.
template <class I>
concept PointerIndex = requires(I& index, const void* pointer, const BlockRecord& record) {
  { index.insert(pointer, record) } noexcept -> std::same_as<InsertOutcome>;
  { index.take(pointer) } noexcept -> std::same_as<BlockRecord>;
  index.for_each([](const void*, const BlockRecord&) {});
};

/// A minimal model of `PointerIndex`.
struct PointerIndexArchetype {
  InsertOutcome insert(const void*, const BlockRecord&) noexcept { return {}; }
  BlockRecord take(const void*) noexcept { return {}; }
  template <class Visit>
  void for_each(Visit&&) const {}
};

static_assert(PointerIndex<PointerIndexArchetype>);

}  // namespace alloctap
