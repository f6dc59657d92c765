/// The contract of containers: the records of live blocks and of mappings.
#pragma once

#include <concepts>

#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/meta/pointer_index.hpp"

namespace alloctap {

/// A `PointerIndex` of live blocks, plus the mapping records. `BlockTracker` does the counting. If
/// `leaves_errno_alone` is true, its functions (and those of derived types) preserve errno.
/// Otherwise the recorder saves and restores errno at each event.
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
