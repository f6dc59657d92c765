/// Fault injection: the policy, the scope of failing allocations, and a function's range.
#pragma once

#include <cstdint>

#include "alloctap/event/address_range.hpp"
#include "alloctap/fail/active_fault_rules.hpp"
#include "alloctap/fail/failure_policy.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/pe/native_function.hpp"

namespace alloctap {

/// A scope guard for fault injection: while it is alive, allocations that match its rule fail.
/// Affects all trackers whose hook is installed and whose `Failures` policy is `InjectedFailures`,
/// even without a session. Example:
///
///     alloctap::failing_allocations seventh{{.nth = 7}};
///     load_level();                       // its 7th allocation fails
///     seventh.failures();                 // 1 if it made at least 7 allocations
///
/// A failing call behaves as its function does if out of memory. malloc and related functions
/// return null and set errno to ENOMEM; realloc leaves the block unchanged. posix_memalign returns
/// ENOMEM. operator new throws std::bad_alloc; its nothrow form returns null. HeapAlloc and
/// HeapReAlloc return null. New handlers are not called. A reallocation to 0 bytes is a free and
/// never fails.
///
/// Scopes nest. An allocation fails if the rule of any alive scope selects it. Each rule counts all
/// allocations that match it. A scope for one thread must end on that thread. Not for use inside a
/// hook; allocates nothing.
class FailingAllocations {
 public:
  explicit FailingAllocations(const FailureRule& rule) noexcept;
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  /// Returns false if the scope has no effect. Either `ActiveFaultRules::kMaxOfAllThreads` rules
  /// for all threads are active already, or the thread has no thread-local storage.
  [[nodiscard]] bool active() const noexcept { return rule_ != nullptr; }

  /// `allocations` returns how many allocations matched, `failures` how many matches failed.
  [[nodiscard]] std::uint64_t allocations() const noexcept {
    return active() ? rule_->allocations() : 0;
  }
  [[nodiscard]] std::uint64_t failures() const noexcept { return active() ? rule_->failures() : 0; }

 private:
  ThreadRule mine_;
  CountedRule* rule_ = nullptr;
};

using failing_allocations = FailingAllocations;

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

/// Returns the code range of `function` for `FailureRule::called_in`:
/// `function_range(&load_level)`. The range contains neither inlined copies nor parts that the
/// compiler moved elsewhere (cold code). The linker may merge functions with identical code into
/// one. Returns an empty range, which matches nothing, if `function` has no unwind table entry.
/// Control plane.
template <class Result, class... Arguments>
[[nodiscard]] AddressRange function_range(Result (*function)(Arguments...)) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(function);
  const native::FunctionExtent found = native::find_function_extent(place);
  return {.start = found.begin, .end = found.end};
}

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/fail/impl/injected_failures.hpp"
#endif
