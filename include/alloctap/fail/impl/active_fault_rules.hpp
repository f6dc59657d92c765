/// The bodies of fail/active_fault_rules.hpp.
#pragma once

#include <atomic>
#include <mutex>

#include "alloctap/fail/active_fault_rules.hpp"
#include "alloctap/fail/counted_rule.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/fork_handlers.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

ALLOCTAP_NOINLINE ALLOCTAP_INLINE bool ActiveFaultRules::begin(ThreadRule& rule) noexcept {
  if (!Local::is_own()) return false;
  // Resets the depth, because calls that longjmp or a Windows exception left never decremented it.
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
