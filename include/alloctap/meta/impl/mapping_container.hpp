/// Definitions for meta/mapping_container.hpp.
#pragma once

#include <iterator>

#include "alloctap/macros.hpp"
#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap {

ALLOCTAP_INLINE bool MappingSet::add(AddressRange range, StackId stack,
                                     std::uint64_t order) noexcept {
  MappingInterval* interval = make(range, stack, order);
  if (interval != nullptr) insert(*interval);
  return interval != nullptr;
}

ALLOCTAP_INLINE bool MappingSet::discard(AddressRange range) noexcept {
  bool complete = true;
  for (Place place = first_ending_after(range.start); starts_in(range, place);) {
    MappingInterval& interval = *place++;
    if (range.contains(interval.range)) {
      erase(interval);
      destroy(&interval);
    } else {
      complete = cut_out(interval, range) && complete;
    }
  }
  return complete;
}

ALLOCTAP_INLINE MappingInterval* MappingSet::take_out(AddressRange range,
                                                      std::uint64_t& lost) noexcept {
  MappingInterval* first = nullptr;
  for (Place place = first_ending_after(range.start); starts_in(range, place);) {
    MappingInterval* part = take_part(*place++, range);
    if (part == nullptr) {
      ++lost;
    } else {
      part->next = std::exchange(first, part);
    }
  }
  return first;
}

ALLOCTAP_INLINE MappingSet::Place MappingSet::first_ending_after(std::uintptr_t address) noexcept {
  const auto starts_behind = [](std::uintptr_t value, const MappingInterval& interval) {
    return value < interval.range.start;
  };
  const Place behind = set_.get().upper_bound(address, starts_behind);
  if (behind == set_.get().begin()) return behind;
  const Place before = std::prev(behind);
  return before->range.end > address ? before : behind;
}

ALLOCTAP_INLINE void MappingSet::insert(MappingInterval& interval) noexcept {
  set_.get().insert(interval);
  bytes_ += interval.range.length();
  ++count_;
}

ALLOCTAP_INLINE void MappingSet::erase(MappingInterval& interval) noexcept {
  set_.get().erase(set_.get().iterator_to(interval));
  bytes_ -= interval.range.length();
  --count_;
}

ALLOCTAP_INLINE bool MappingSet::cut_out(MappingInterval& interval, AddressRange range) noexcept {
  const AddressRange before{interval.range.start, range.start};
  const AddressRange behind{range.end, interval.range.end};
  if (before.empty()) {
    resize(interval, behind);
    return true;
  }
  if (!behind.empty() && !add(behind, interval.stack, interval.order)) return false;
  resize(interval, before);
  return true;
}

ALLOCTAP_INLINE MappingInterval* MappingSet::take_part(MappingInterval& interval,
                                                       AddressRange range) noexcept {
  if (range.contains(interval.range)) {
    erase(interval);
    return &interval;
  }
  const AddressRange inside{std::max(interval.range.start, range.start),
                            std::min(interval.range.end, range.end)};
  if (!cut_out(interval, range)) return nullptr;
  return make(inside, interval.stack, interval.order);
}

ALLOCTAP_INLINE void MappingSet::put_back_one(MappingInterval* interval,
                                              std::uint64_t& lost) noexcept {
  MappingInterval* unused = interval;
  const StackId stack = interval->stack;
  const std::uint64_t order = interval->order;
  for_each_gap(interval->range, [&](AddressRange gap) {
    MappingInterval* piece = std::exchange(unused, nullptr);
    if (piece == nullptr) piece = make(gap, stack, order);
    if (piece == nullptr) return static_cast<void>(++lost);
    piece->range = gap;
    insert_and_join(*piece);
  });
  if (unused != nullptr) destroy(unused);
}

ALLOCTAP_INLINE void MappingSet::insert_and_join(MappingInterval& piece) noexcept {
  insert(piece);
  const Place place = set_.get().iterator_to(piece);
  if (std::next(place) != set_.get().end()) join(*place, *std::next(place));
  if (place != set_.get().begin()) join(*std::prev(place), *place);
}

ALLOCTAP_INLINE void MappingSet::join(MappingInterval& left, MappingInterval& right) noexcept {
  if (left.order != right.order || left.range.end != right.range.start) return;
  const AddressRange both{left.range.start, right.range.end};
  erase(right);
  destroy(&right);
  resize(left, both);
}

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
