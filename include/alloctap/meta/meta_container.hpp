/// The contract of containers: the records of live blocks and of mappings.
#pragma once

#include <concepts>

#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/meta/pointer_index.hpp"

namespace alloctap {

/// A `PointerIndex` of live blocks, plus the mapping records. `BlockTracker` does the counting.
template <class M>
concept MetaContainer = PointerIndex<M> && requires(M& meta) {
  { meta.mappings() } noexcept -> std::same_as<MappingContainer&>;
};

/// A minimal model of `MetaContainer`.
struct MetaContainerArchetype : PointerIndexArchetype {
  MappingContainer& mappings() noexcept { return mappings_; }

  MappingContainer mappings_;
};

static_assert(MetaContainer<MetaContainerArchetype>);

}  // namespace alloctap
