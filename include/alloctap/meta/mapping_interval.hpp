/// A node of the set of mapped intervals.
#pragma once

#include <boost/intrusive/set_hook.hpp>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/address_range.hpp"
#include "alloctap/event/allocation_event.hpp"

namespace alloctap {

using MappingHook =
    boost::intrusive::set_base_hook<boost::intrusive::optimize_size<true>,
                                    boost::intrusive::link_mode<boost::intrusive::normal_link>>;

/// A mapping, or a piece left by a partial unmapping. Fits an arena block of 64 bytes.
struct MappingInterval : MappingHook {
  MappingInterval(AddressRange where, StackId mapper, std::uint64_t creation) noexcept
      : range(where), order(creation), stack(mapper) {}

  AddressRange range;
  /// The serial number of the `map` call; pieces of one mapping have equal numbers.
  std::uint64_t order;
  /// The next node in a chain of intervals that were removed from the set.
  MappingInterval* next = nullptr;
  StackId stack;

  friend bool operator<(const MappingInterval& left, const MappingInterval& right) noexcept {
    return left.range.start < right.range.start;
  }
};

}  // namespace alloctap
