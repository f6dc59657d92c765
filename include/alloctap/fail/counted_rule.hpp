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
  void begin(const FailureRule& rule) noexcept;

  /// Counts an allocation if it fits, and says whether it is to fail. `stack` is its stack, if some
  /// rule asks for stacks.
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
