/// The fault-injection policy behind `failing_allocations`.
#pragma once

#include "alloctap/fail/active_fault_rules.hpp"
#include "alloctap/fail/failing_allocations.hpp"
#include "alloctap/fail/failure_policy.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// The policy that fails the allocations which `failing_allocations` scopes select. Runs inside
/// malloc. While no scope is alive in the process, it costs one load and one branch per allocation.
struct InjectedFailures {
  static constexpr bool kFails = true;

  ALLOCTAP_ALWAYS_INLINE static bool may_refuse() noexcept { return ActiveFaultRules::any(); }

  static bool refuses(const AskedAllocation& asked,
                      const AllocationSurroundings& surroundings) noexcept {
    if (ActiveFaultRules::enter_asked() > 1) return false;
    return ActiveFaultRules::refuse(asked, surroundings);
  }

  static void end_asked() noexcept { ActiveFaultRules::leave_asked(); }
};

static_assert(FailurePolicy<InjectedFailures>);

}  // namespace alloctap
