/// The contract of pointer indexes: maps from block addresses to records.
#pragma once

#include <concepts>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/policy_features.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// The result of `insert`.
struct InsertOutcome {
  /// False if the record was not stored because memory ran out.
  bool kept = true;
  /// The record that was replaced; `stack` is `kNoStackId` if the address was unknown.
  BlockRecord replaced;
};

/// The properties and the optional members of an index.
struct IndexFeatures {
  /// All functions of the index and of derived types preserve errno. Without this feature, the
  /// recorder saves and restores errno at each event.
  bool leaves_errno_alone = false;
  /// `expect(pointer)` starts the lookup of a pointer. `try_insert(pointer, record, expected)`
  /// takes the result of `expect` and stores a record, or stores nothing and returns false.
  bool expect = false;
  /// `set_min_block_spacing(bytes)` tells the index the minimum distance between block addresses.
  /// It is called before any block is stored.
  bool set_min_block_spacing = false;
  /// `age_ns(pointer)` returns the age of a block in nanoseconds; -1 if it is unknown.
  bool age_ns = false;
};

/// Maps the address of a live block to its record. The functions are thread-safe and run inside
/// malloc. Calls for one address are never concurrent, unless the program frees a block on two
/// threads at once. Then both calls may return the record, but nothing else may break.
///
/// `take` removes and returns a record; its `stack` is `kNoStackId` if the address is unknown.
/// `for_each` calls `visit(const void*, const BlockRecord&)` at least for each record that exists
/// during the whole call. The `stack` of a stored record is never `kNoStackId`.
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

/// When instantiated, rejects an index `I` whose declared features differ from its members.
template <class I>
struct CheckedIndex {
  static constexpr auto kHas = features_of<IndexFeatures, I>();
  ALLOCTAP_CHECK_FEATURE(
      "Index", kHas, expect, requires(I& index, const void* pointer, const BlockRecord& record) {
        index.try_insert(pointer, record, index.expect(pointer));
      });
  ALLOCTAP_CHECK_FEATURE(
      "Index", kHas, set_min_block_spacing,
      requires(I& index) { index.set_min_block_spacing(std::size_t{16}); });
  ALLOCTAP_CHECK_FEATURE("Index", kHas, age_ns, requires(I& index) { index.age_ns(nullptr); });
  static constexpr bool ok = true;
};

}  // namespace alloctap
