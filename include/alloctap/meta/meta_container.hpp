/// The contract of meta containers: what is known of the program's memory.
#pragma once

#include <concepts>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/meta/stack_totals.hpp"

namespace alloctap {

/// Counters of a container since the start. Blocks and bytes that are live follow from the index.
struct ContainerCounters {
  std::uint64_t deallocations = 0;
  std::uint64_t unmatched_frees = 0;
  /// Records lost because the system had no memory for them.
  std::uint64_t dropped = 0;
  /// Blocks found gone because their address was handed out again: their free was not seen.
  std::uint64_t unseen_frees = 0;
  std::uint64_t peak_live_bytes = 0;
};

/// Holds the live blocks, the totals per stack and the mappings. Everything but `counters`,
/// `totals` and `for_each_live` runs inside malloc, on any thread.
///
/// `take` removes a record for a reallocation; exactly one of `put_back` and
/// `count_reallocated` follows, if the thread lives so long: between them the block counts as given
/// back, so that a snapshot or the child of a fork sees sums that add up. `count_pair` stands for
/// an allocation and its free that met before either arrived.
template <class M>
concept MetaContainer = requires(M& meta, const RecordedAllocation& allocation, void* pointer,
                                 const BlockRecord& record, bool temporary, StackId stack) {
  { meta.record_allocation(allocation) } noexcept -> std::same_as<void>;
  { meta.record_deallocation(pointer, temporary) } noexcept -> std::same_as<void>;
  { meta.take(pointer) } noexcept -> std::same_as<BlockRecord>;
  { meta.put_back(pointer, record) } noexcept -> std::same_as<void>;
  { meta.count_reallocated(record, temporary) } noexcept -> std::same_as<void>;
  { meta.count_pair(record, temporary) } noexcept -> std::same_as<void>;
  { meta.mappings() } noexcept -> std::same_as<MappingContainer&>;
  { meta.counters() } noexcept -> std::same_as<ContainerCounters>;
  { meta.totals(stack) } noexcept -> std::same_as<AllocationTotals>;
  meta.for_each_live([](const void*, const BlockRecord&) {});
};

/// The least that models `MetaContainer`.
struct MetaContainerArchetype {
  void record_allocation(const RecordedAllocation&) noexcept {}
  void record_deallocation(void*, bool) noexcept {}
  BlockRecord take(void*) noexcept { return {}; }
  void put_back(void*, const BlockRecord&) noexcept {}
  void count_reallocated(const BlockRecord&, bool) noexcept {}
  void count_pair(const BlockRecord&, bool) noexcept {}
  MappingContainer& mappings() noexcept { return mappings_; }
  ContainerCounters counters() noexcept { return {}; }
  AllocationTotals totals(StackId) noexcept { return {}; }
  template <class Visit>
  void for_each_live(Visit&&) {}

  MappingContainer mappings_;
};

static_assert(MetaContainer<MetaContainerArchetype>);

}  // namespace alloctap
