/// The contract of pointer indexes: which block is at an address.
#pragma once

#include <concepts>

#include "alloctap/event/allocation_event.hpp"

namespace alloctap {

/// What `insert` did.
struct InsertOutcome {
  /// False: the system had no memory for the record, nothing was kept.
  bool kept = true;
  /// The record that was at the address before; its `stack` is `kNoStackId` where there was none.
  BlockRecord replaced;
};

/// Maps the address of a live block to its record. All functions are thread-safe and run inside
/// malloc; for one address they are called by one thread at a time, unless the program frees a
/// block twice at one moment: both may be given its record then, and nothing else goes wrong.
/// `take` removes a record and returns it; one with `stack == kNoStackId` means that there was
/// none. `for_each` visits `(const void*, BlockRecord)`; it sees every record that is there from
/// its begin to its end. Records have a `stack` other than `kNoStackId`.
template <class I>
concept PointerIndex = requires(I& index, const void* pointer, const BlockRecord& record) {
  { index.insert(pointer, record) } noexcept -> std::same_as<InsertOutcome>;
  { index.take(pointer) } noexcept -> std::same_as<BlockRecord>;
  index.for_each([](const void*, const BlockRecord&) {});
};

/// The least that models `PointerIndex`.
struct PointerIndexArchetype {
  InsertOutcome insert(const void*, const BlockRecord&) noexcept { return {}; }
  BlockRecord take(const void*) noexcept { return {}; }
  template <class Visit>
  void for_each(Visit&&) const {}
};

static_assert(PointerIndex<PointerIndexArchetype>);

}  // namespace alloctap
