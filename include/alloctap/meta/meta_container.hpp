/// The contract of meta containers: what is known of the program's memory.
#pragma once

#include <concepts>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/meta/pointer_index.hpp"

namespace alloctap {

/// Holds the live blocks, as a `PointerIndex` does, and the mappings. It counts nothing: see
/// `BlockTracker`. Everything but `for_each_live` runs inside malloc, on any thread. Where it says
/// `leaves_errno_alone`, its functions do not change the error number, those of a type that derives
/// from it neither; else the recorder keeps that, at each event. Its index may say so, too.
template <class M>
concept MetaContainer = requires(M& meta, const void* pointer, const BlockRecord& record) {
  { meta.insert(pointer, record) } noexcept -> std::same_as<InsertOutcome>;
  { meta.take(pointer) } noexcept -> std::same_as<BlockRecord>;
  { meta.mappings() } noexcept -> std::same_as<MappingContainer&>;
  meta.for_each_live([](const void*, const BlockRecord&) {});
};

/// The least that models `MetaContainer`.
struct MetaContainerArchetype {
  InsertOutcome insert(const void*, const BlockRecord&) noexcept { return {}; }
  BlockRecord take(const void*) noexcept { return {}; }
  MappingContainer& mappings() noexcept { return mappings_; }
  template <class Visit>
  void for_each_live(Visit&&) {}

  MappingContainer mappings_;
};

static_assert(MetaContainer<MetaContainerArchetype>);

}  // namespace alloctap
