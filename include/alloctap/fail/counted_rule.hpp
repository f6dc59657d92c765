/// A rule of failures at work: what it has met so far.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/fail/failure_policy.hpp"
#include "alloctap/fail/failure_rule.hpp"

namespace alloctap {

/// Used by one thread at a time; the counts may be read by any. All atomic because compilers take
/// malloc for a function that changes no variable. Runs inside malloc.
class CountedRule {
 public:
  constexpr CountedRule() noexcept = default;
  explicit CountedRule(const FailureRule& rule) noexcept : rule_(rule) {}
  CountedRule(const CountedRule&) = delete;
  CountedRule& operator=(const CountedRule&) = delete;

  [[nodiscard]] const FailureRule& rule() const noexcept { return rule_; }

  /// Begins anew.
  void begin(const FailureRule& rule) noexcept {
    rule_ = rule;
    allocations_.store(0, std::memory_order_relaxed);
    failures_.store(0, std::memory_order_relaxed);
  }

  /// Counts an allocation if it fits, and says whether it is to fail. `stack` is its stack, if some
  /// rule asks for stacks.
  [[nodiscard]] bool meet(const AskedAllocation& asked, StackId stack,
                          const AllocationSurroundings& surroundings) noexcept {
    if (!fits(asked, stack, surroundings)) return false;
    const std::uint64_t number = allocations() + 1;
    allocations_.store(number, std::memory_order_relaxed);
    if (failures() >= rule_.most_failures || !rule_.chooses(number)) return false;
    failures_.store(failures() + 1, std::memory_order_relaxed);
    return true;
  }

  [[nodiscard]] std::uint64_t allocations() const noexcept {
    return allocations_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t failures() const noexcept {
    return failures_.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] bool fits(const AskedAllocation& asked, StackId stack,
                          const AllocationSurroundings& surroundings) const noexcept {
    if (asked.is_own && !rule_.own_allocations) return false;
    if (!rule_.fits_size(asked.size)) return false;
    if (rule_.stack != kNoStackId && rule_.stack != stack) return false;
    if (rule_.called_in.has_value() && !surroundings.passes(stack, *rule_.called_in)) return false;
    return rule_.tag == kNoTag || is_in_tag(surroundings);
  }

  [[nodiscard]] bool is_in_tag(const AllocationSurroundings& surroundings) const noexcept {
    TagId tag = surroundings.tag();
    while (tag != kNoTag && tag != rule_.tag && !rule_.only_that_tag) {
      tag = surroundings.tag_around(tag);
    }
    return tag == rule_.tag;
  }

  FailureRule rule_;
  std::atomic<std::uint64_t> allocations_{0};
  std::atomic<std::uint64_t> failures_{0};
};

}  // namespace alloctap
