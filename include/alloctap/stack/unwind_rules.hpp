/// The process-wide map from code addresses to unwind rules.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/stack/unwind_rule.hpp"
#include "alloctap/stack/unwind_rule_cache.hpp"

namespace alloctap {

namespace elf {
struct CallFrameRow;
}

/// Returns the unwind table row at `address`, or the row of a signal trampoline. Returns nullptr if
/// no row is found, or it cannot be read. Interprets the table on each call. The result is valid
/// until the thread's next call. Runs inside malloc. Not re-entrant on one thread: allocations of a
/// signal handler that interrupts it are not captured.
[[nodiscard]] const elf::CallFrameRow* find_unwind_row(std::uintptr_t address) noexcept;

/// The unwind rules of all loaded modules, read from their tables on first use. All static.
/// Thread-safe; runs inside malloc.
class UnwindRules {
 public:
  using Epoch = UnwindRuleCache::Epoch;

  /// Returns the rule at `address`; `kNone` if the code has no unwind table.
  [[nodiscard]] static UnwindRule find(std::uintptr_t address, Epoch epoch) noexcept {
    const UnwindRule rule = cache_.find(address, epoch);
    if (rule.kind != UnwindRule::Kind::kNone) [[likely]] {
      return rule;
    }
    return read_from_table(address, epoch);
  }

  /// Returns the epoch; results derived from rules are valid while it is unchanged.
  [[nodiscard]] static Epoch epoch() noexcept { return epoch_.load(std::memory_order_acquire); }

  /// Invalidates all rules. Call it after a module is unloaded, before its addresses are reused. A
  /// thread that still runs the unloaded code is a bug of the program.
  static void forget_all() noexcept { epoch_.fetch_add(1, std::memory_order_release); }

 private:
  /// Does not cache `kNone`: a table may be registered later, and such code ends the walk anyway.
  /// Preserves errno for callers that do not.
  static UnwindRule read_from_table(std::uintptr_t address, Epoch epoch) noexcept;

  static inline constinit UnwindRuleCache cache_;
  static inline constinit std::atomic<Epoch> epoch_{1};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/unwind_rules.hpp"
#endif
