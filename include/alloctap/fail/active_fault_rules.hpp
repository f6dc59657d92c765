/// The fault-injection rules in force in this process, with their counts.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "alloctap/fail/failure_policy.hpp"
#include "alloctap/fail/failure_rule.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"

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

/// A rule that applies to one thread; an element of the linked list of that thread's rules.
struct ThreadRule {
  CountedRule counted;
  ThreadRule* outer = nullptr;
};

/// A slot for a rule that applies to all threads.
struct CommonRule {
  CountedRule counted;
  bool taken = false;
};

/// The registry of active rules. Each thread has a linked list of its rules, innermost scope first.
/// Rules for all threads lie in fixed slots, so that a forked child finds them unchanged. Runs
/// inside malloc. Process-wide state is constant-initialized and never destroyed.
class ActiveFaultRules {
 public:
  /// Maximum number of active rules for all threads.
  static constexpr std::size_t kMaxOfAllThreads = 16;

  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static bool any() noexcept {
    return count_.load(std::memory_order_relaxed) != 0;
  }

  /// Adds a rule for the calling thread. Returns false if the thread has no thread-local storage.
  static bool begin(ThreadRule& rule) noexcept;

  /// Removes `rule`. Call it on the thread that called `begin`. Rules may end in any order.
  static void end(const ThreadRule& rule) noexcept;

  /// Adds a rule for all threads. Returns nullptr if all slots are in use.
  [[nodiscard]] static CountedRule* begin_for_all(const FailureRule& rule) noexcept;

  static void end_for_all(const CountedRule& rule) noexcept;

  /// Counts the allocation in all rules that match it. Returns whether a rule makes it fail.
  [[nodiscard]] static bool refuse(const AskedAllocation& asked,
                                   const AllocationSurroundings& surroundings) noexcept {
    if (asked.is_own && UseInternalArena::active()) return false;
    const bool with_stack = !asked.is_own && asking_for_stacks_.load(std::memory_order_relaxed) > 0;
    const StackId stack = with_stack ? surroundings.stack(asked.origin) : kNoStackId;
    bool refused = false;
    ThreadRule* rule = Local::mine().innermost.load(std::memory_order_relaxed);
    for (; rule != nullptr; rule = rule->outer) {
      refused |= rule->counted.meet(asked, stack, surroundings);
    }
    if (asked.is_own || taken_.load(std::memory_order_relaxed) == 0) return refused;
    return refuse_for_all(asked, stack, surroundings) || refused;
  }

  /// Marks the begin of a call that allocates. Returns the nesting depth of such calls on this
  /// thread; the outermost has depth 1.
  static std::int32_t enter_asked() noexcept {
    auto& depth = Local::mine().asked;
    const std::int32_t now = depth.load(std::memory_order_relaxed) + 1;
    depth.store(now, std::memory_order_relaxed);
    return now;
  }
  static void leave_asked() noexcept {
    auto& depth = Local::mine().asked;
    depth.store(depth.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  }

 private:
  /// Per-thread state. Atomic, because GCC assumes that malloc reads no user data and may delete
  /// stores to a plain variable.
  struct OfThread {
    std::atomic<ThreadRule*> innermost;
    std::atomic<std::int32_t> asked;
  };
  using Local = os::ThreadLocal<OfThread>;

  static void note(const FailureRule& rule, std::int32_t change) noexcept {
    count_.fetch_add(change, std::memory_order_relaxed);
    if (rule.asks_for_stacks()) asking_for_stacks_.fetch_add(change, std::memory_order_relaxed);
  }

  ALLOCTAP_NOINLINE static bool refuse_for_all(
      const AskedAllocation& asked, StackId stack,
      const AllocationSurroundings& surroundings) noexcept {
    const RecordingScope forks_wait;
    const std::lock_guard hold(lock_);
    bool refused = false;
    for (CommonRule& place : places_) {
      if (place.taken) refused |= place.counted.meet(asked, stack, surroundings);
    }
    return refused;
  }

  static inline constinit std::atomic<std::int32_t> count_{0};
  static inline constinit std::atomic<std::int32_t> asking_for_stacks_{0};
  static inline constinit std::atomic<std::int32_t> taken_{0};
  static inline constinit FutexLock lock_;
  static inline constinit std::array<CommonRule, kMaxOfAllThreads> places_{};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/fail/impl/active_fault_rules.hpp"
#endif
