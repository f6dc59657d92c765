/// A scope in which chosen allocations fail.
#pragma once

#include <cstdint>

#include "alloctap/fail/active_fault_rules.hpp"

namespace alloctap {

/// A scope guard for fault injection: while it is alive, allocations that match its rule fail.
/// Affects all trackers with an installed hook whose `Failures` policy is `InjectedFailures`. They
/// need not be recording. Example:
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

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/fail/impl/failing_allocations.hpp"
#endif
