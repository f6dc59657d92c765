/// Having allocations fail for a while.
#pragma once

#include <cstdint>

#include "alloctap/fail/active_fault_rules.hpp"

namespace alloctap {

/// While one is alive, allocations that its rule names fail, in every tracker whose `Failures` is
/// `InjectedFailures` and whose hook is in place, session or not:
///
///     alloctap::failing_allocations seventh{{.nth = 7}};
///     load_level();                       // its 7th allocation fails
///     seventh.failures();                 // 1, if it made as many
///
/// A call that fails has the effect that its function has where there is no memory: malloc and its
/// relatives return null with ENOMEM in errno, and a block that was to be reallocated stays as it
/// is; posix_memalign returns ENOMEM; operator new throws std::bad_alloc or, where it must not,
/// returns null; HeapAlloc and HeapReAlloc return null. New handlers are not called. A reallocation
/// to 0 bytes is a free and never fails.
///
/// Scopes nest: an allocation fails if any rule says so, and each rule counts what fits it. Those
/// of one thread end on the thread that they began on. Not to be used inside a hook; allocates
/// nothing.
class FailingAllocations {
 public:
  explicit FailingAllocations(const FailureRule& rule) noexcept;
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  /// False where nothing fails by this scope: `ActiveFaultRules::kMaxOfAllThreads` rules of all
  /// threads were in force already, or the system gave threads no storage of their own.
  [[nodiscard]] bool active() const noexcept { return rule_ != nullptr; }

  /// How many allocations fitted the rule so far, and how many of them failed.
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
