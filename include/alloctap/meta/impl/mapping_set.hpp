/// The bodies of meta/mapping_set.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "alloctap/macros.hpp"
#include "alloctap/meta/mapping_interval.hpp"
#include "alloctap/meta/mapping_set.hpp"

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

}  // namespace alloctap
