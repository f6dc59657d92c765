/// The default container of trackers.
#pragma once

#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/meta/meta_container.hpp"
#include "alloctap/meta/pointer_index.hpp"

namespace alloctap {

/// A pointer index plus mapping records, used inside malloc. Constant-initialized, never destroyed.
template <PointerIndex Index>
class MemoryMetaContainer : public Index {
 public:
  constexpr MemoryMetaContainer() noexcept = default;

  MappingContainer& mappings() noexcept { return mappings_; }

 private:
  MappingContainer mappings_;
};

}  // namespace alloctap
