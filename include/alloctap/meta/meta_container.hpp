/// The contract of containers, and the default: a pointer index plus mapping records.
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

/// The default container of trackers, used inside malloc. Constant-initialized, never destroyed.
template <PointerIndex Index>
class MemoryMetaContainer : public Index {
 public:
  constexpr MemoryMetaContainer() noexcept = default;

  MappingContainer& mappings() noexcept { return mappings_; }

 private:
  MappingContainer mappings_;
};

}  // namespace alloctap
