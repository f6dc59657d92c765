/// The bodies of fail/counted_rule.hpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/fail/counted_rule.hpp"
#include "alloctap/fail/failure_policy.hpp"
#include "alloctap/fail/failure_rule.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE void CountedRule::begin(const FailureRule& rule) noexcept {
  rule_ = rule;
  allocations_.store(0, std::memory_order_relaxed);
  failures_.store(0, std::memory_order_relaxed);
}

ALLOCTAP_INLINE bool CountedRule::meet(const AskedAllocation& asked, StackId stack,
                                       const AllocationSurroundings& surroundings) noexcept {
  if (!fits(asked, stack, surroundings)) return false;
  const std::uint64_t number = allocations() + 1;
  allocations_.store(number, std::memory_order_relaxed);
  if (failures() >= rule_.most_failures || !rule_.chooses(number)) return false;
  failures_.store(failures() + 1, std::memory_order_relaxed);
  return true;
}

ALLOCTAP_INLINE bool CountedRule::fits(const AskedAllocation& asked, StackId stack,
                                       const AllocationSurroundings& surroundings) const noexcept {
  if (asked.is_own && !rule_.own_allocations) return false;
  if (!rule_.fits_size(asked.size)) return false;
  if (rule_.stack != kNoStackId && rule_.stack != stack) return false;
  if (rule_.called_in.has_value() && !surroundings.passes(stack, *rule_.called_in)) return false;
  return rule_.tag == kNoTag || is_in_tag(surroundings);
}

ALLOCTAP_INLINE bool CountedRule::is_in_tag(
    const AllocationSurroundings& surroundings) const noexcept {
  TagId tag = surroundings.tag();
  while (tag != kNoTag && tag != rule_.tag && !rule_.only_that_tag) {
    tag = surroundings.tag_around(tag);
  }
  return tag == rule_.tag;
}

}  // namespace alloctap
