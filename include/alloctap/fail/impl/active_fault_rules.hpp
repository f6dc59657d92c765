/// Definitions for fail/active_fault_rules.hpp.
#pragma once

#include "alloctap/fail/active_fault_rules.hpp"
#include "alloctap/runtime/fork_handlers.hpp"

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

ALLOCTAP_NOINLINE ALLOCTAP_INLINE bool ActiveFaultRules::begin(ThreadRule& rule) noexcept {
  if (!Local::is_own()) return false;
  // Resets the depth: a call that was left by longjmp or a Windows exception did not decrement it.
  Local::mine().asked.store(0, std::memory_order_relaxed);
  auto& innermost = Local::mine().innermost;
  rule.outer = innermost.load(std::memory_order_relaxed);
  note(rule.counted.rule(), 1);
  innermost.store(&rule, std::memory_order_relaxed);
  return true;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void ActiveFaultRules::end(const ThreadRule& rule) noexcept {
  auto& innermost = Local::mine().innermost;
  ThreadRule* inner = innermost.load(std::memory_order_relaxed);
  if (inner == &rule) {
    innermost.store(rule.outer, std::memory_order_relaxed);
  } else {
    while (inner != nullptr && inner->outer != &rule) inner = inner->outer;
    if (inner != nullptr) inner->outer = rule.outer;
  }
  note(rule.counted.rule(), -1);
}

ALLOCTAP_INLINE CountedRule* ActiveFaultRules::begin_for_all(const FailureRule& rule) noexcept {
  static_cast<void>(ForkHandlers::ensure_registered());
  const RecordingScope forks_wait;
  const std::lock_guard hold(lock_);
  for (CommonRule& place : places_) {
    if (place.taken) continue;
    place.counted.begin(rule);
    place.taken = true;
    taken_.fetch_add(1, std::memory_order_relaxed);
    note(rule, 1);
    return &place.counted;
  }
  return nullptr;
}

ALLOCTAP_INLINE void ActiveFaultRules::end_for_all(const CountedRule& rule) noexcept {
  const RecordingScope forks_wait;
  const std::lock_guard hold(lock_);
  for (CommonRule& place : places_) {
    if (&place.counted != &rule) continue;
    place.taken = false;
    taken_.fetch_sub(1, std::memory_order_relaxed);
    note(rule.rule(), -1);
  }
}

}  // namespace alloctap
