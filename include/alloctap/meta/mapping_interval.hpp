/// A node of the interval set of mappings.
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

/// A mapping, or a piece that is left of one. An arena object that fits a 64-byte block.
struct MappingInterval : MappingHook {
  MappingInterval(AddressRange where, StackId mapper, std::uint64_t creation) noexcept
      : range(where), order(creation), stack(mapper) {}

  AddressRange range;
  /// The number of the mapping; pieces of one mapping share it.
  std::uint64_t order;
  /// The next node in a chain of removed intervals.
  MappingInterval* next = nullptr;
  StackId stack;

  friend bool operator<(const MappingInterval& left, const MappingInterval& right) noexcept {
    return left.range.start < right.range.start;
  }
};

}  // namespace alloctap
