/// The bodies of meta/mapping_container.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/meta/mapping_set.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap {

ALLOCTAP_INLINE bool MappingContainer::map(std::uintptr_t start, std::size_t length,
                                           StackId stack) noexcept {
  const AddressRange range = whole_pages(start, length);
  if (range.empty()) return true;
  const std::lock_guard hold(lock_);
  ++totals_.mappings;
  totals_.mapped_bytes +=
      std::min<std::uint64_t>(range.length(), UINT64_MAX - totals_.mapped_bytes);
  const bool kept = set_.discard(range) && set_.add(range, stack, totals_.mappings);
  if (!kept) ++totals_.dropped;
  note_peak();
  return kept;
}

ALLOCTAP_INLINE DetachedMappings MappingContainer::begin_unmap(std::uintptr_t start,
                                                               std::size_t length) noexcept {
  const AddressRange range = whole_pages(start, length);
  if (range.empty()) return {};
  const std::lock_guard hold(lock_);
  return {set_.take_out(range, totals_.dropped)};
}

ALLOCTAP_INLINE void MappingContainer::cancel_unmap(DetachedMappings& detached) noexcept {
  const std::lock_guard hold(lock_);
  set_.put_back(take(detached), totals_.dropped);
  note_peak();
}

ALLOCTAP_INLINE void MappingContainer::finish_unmap(DetachedMappings& detached) noexcept {
  MappingSet::destroy_all(take(detached));
  const std::lock_guard hold(lock_);
  ++totals_.unmappings;
}

ALLOCTAP_INLINE MappingTotals MappingContainer::totals() noexcept {
  const std::lock_guard hold(lock_);
  MappingTotals totals = totals_;
  totals.live_mappings = set_.count();
  totals.live_bytes = set_.bytes();
  return totals;
}

ALLOCTAP_INLINE AddressRange MappingContainer::whole_pages(std::uintptr_t start,
                                                           std::size_t length) noexcept {
  const std::uintptr_t mask = os::page_size() - 1;
  const std::uintptr_t most = ~start & ~mask;
  return {start, start + (length > most ? most : (length + mask) & ~mask)};
}

}  // namespace alloctap
