/// A fault-injection rule with counts of matches and failures.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/fail/failure_policy.hpp"
#include "alloctap/fail/failure_rule.hpp"

namespace alloctap {

/// A fault-injection rule that counts matching and failed allocations. Callers serialize updates;
/// any thread may read the counts. The counts are atomic, because compilers assume that malloc
/// modifies no user data. Runs inside malloc.
class CountedRule {
 public:
  constexpr CountedRule() noexcept = default;
  explicit CountedRule(const FailureRule& rule) noexcept : rule_(rule) {}
  CountedRule(const CountedRule&) = delete;
  CountedRule& operator=(const CountedRule&) = delete;

  [[nodiscard]] const FailureRule& rule() const noexcept { return rule_; }

  /// Replaces the rule and resets the counts.
  void begin(const FailureRule& rule) noexcept;

  /// Counts the allocation if it matches the rule. Returns true if the allocation must fail.
  /// `stack` is `kNoStackId` if no active rule needs stacks.
  [[nodiscard]] bool meet(const AskedAllocation& asked, StackId stack,
                          const AllocationSurroundings& surroundings) noexcept;

  [[nodiscard]] std::uint64_t allocations() const noexcept {
    return allocations_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t failures() const noexcept {
    return failures_.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] bool fits(const AskedAllocation& asked, StackId stack,
                          const AllocationSurroundings& surroundings) const noexcept;

  [[nodiscard]] bool is_in_tag(const AllocationSurroundings& surroundings) const noexcept;

  FailureRule rule_;
  std::atomic<std::uint64_t> allocations_{0};
  std::atomic<std::uint64_t> failures_{0};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/fail/impl/counted_rule.hpp"
#endif
