/// From an address in code to its unwind rule.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/stack/unwind_rule.hpp"
#include "alloctap/stack/unwind_rule_cache.hpp"

namespace alloctap {

namespace elf {
struct CallFrameRow;
}

/// Returns the row of the unwind tables that holds at `address`, or the one of code that returns
/// from a signal; nullptr where there is none, or it cannot be read. Interprets the table on
/// each call. Valid until the calling thread asks again. Runs inside malloc, at most once at a time
/// on a thread: what a signal handler allocates meanwhile is not captured.
[[nodiscard]] const elf::CallFrameRow* find_unwind_row(std::uintptr_t address) noexcept;

/// The rules of all loaded modules, read from their tables when they are first met. All static and
/// thread-safe; runs inside malloc.
class UnwindRules {
 public:
  using Epoch = UnwindRuleCache::Epoch;

  /// The rule of the instruction at `address`; `kNone` where its code has no unwind table.
  [[nodiscard]] static UnwindRule find(std::uintptr_t address, Epoch epoch) noexcept {
    const UnwindRule rule = cache_.find(address, epoch);
    if (rule.kind != UnwindRule::Kind::kNone) [[likely]] {
      return rule;
    }
    return read_from_table(address, epoch);
  }

  /// What was derived from rules holds as long as this stays the same.
  [[nodiscard]] static Epoch epoch() noexcept { return epoch_.load(std::memory_order_acquire); }

  /// Forgets all rules: to be called when a module has been unloaded, before its addresses are
  /// used again. A thread that is inside the unloaded code meanwhile is the program's error.
  static void forget_all() noexcept { epoch_.fetch_add(1, std::memory_order_release); }

 private:
  /// Code without a table is not remembered: tables may come for it, and it ends the walk anyway.
  /// Keeps the error number, because who only looks for a frame's caller does not.
  static UnwindRule read_from_table(std::uintptr_t address, Epoch epoch) noexcept;

  static inline constinit UnwindRuleCache cache_;
  static inline constinit std::atomic<Epoch> epoch_{1};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/unwind_rules.hpp"
#endif
