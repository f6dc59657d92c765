/// Definitions for fail/injected_failures.hpp.
#pragma once

#include <atomic>

#include "alloctap/fail/injected_failures.hpp"

namespace alloctap {

ALLOCTAP_INLINE FailingAllocations::FailingAllocations(const FailureRule& rule) noexcept
    : mine_{CountedRule(rule)} {
  if (rule.all_threads) {
    rule_ = ActiveFaultRules::begin_for_all(rule);
  } else if (ActiveFaultRules::begin(mine_)) {
    rule_ = &mine_.counted;
  }
  // The rule is not atomic, and compilers assume that malloc reads no variable.
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

ALLOCTAP_INLINE FailingAllocations::~FailingAllocations() {
  if (rule_ == &mine_.counted) {
    ActiveFaultRules::end(mine_);
  } else if (rule_ != nullptr) {
    ActiveFaultRules::end_for_all(*rule_);
  }
}

}  // namespace alloctap
