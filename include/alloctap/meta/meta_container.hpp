/// The contract of meta containers: what is known of the program's memory.
#pragma once

#include <concepts>

#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/meta/pointer_index.hpp"

namespace alloctap {

/// A `PointerIndex` of the live blocks that holds the mappings, too. It counts nothing: see
/// `BlockTracker`. If it says `leaves_errno_alone`, its functions do not change the error number,
/// those of a type that derives from it neither; else the recorder keeps that, at each event.
template <class M>
concept MetaContainer = PointerIndex<M> && requires(M& meta) {
  { meta.mappings() } noexcept -> std::same_as<MappingContainer&>;
};

/// The least that models `MetaContainer`.
struct MetaContainerArchetype : PointerIndexArchetype {
  MappingContainer& mappings() noexcept { return mappings_; }

  MappingContainer mappings_;
};

static_assert(MetaContainer<MetaContainerArchetype>);

}  // namespace alloctap
