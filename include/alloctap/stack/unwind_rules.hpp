/// The process-wide map from code addresses to unwind rules.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "alloctap/runtime/zeroed_array.hpp"
#include "alloctap/stack/unwind_rule.hpp"

namespace alloctap {

/// A cache of unwind rules in two direct-mapped tables keyed by call address. The small table has
/// the first rules stored; most programs need no more. The large table has later rules. Rules
/// scatter over a table, so one large table would cost a page fault for most rules. A page fault
/// costs more than reading a rule from unwind tables. Untouched pages cost no memory.
///
/// Lock-free and thread-safe with relaxed atomics. An entry has the rule and a check word: the
/// address mixed with the rule. So a torn read fails the check and counts as a miss.
/// Constant-initialized.
class UnwindRuleCache {
 public:
  /// A counter that changes whenever code may have been unloaded. A rule is found only in the epoch
  /// in which it was stored.
  using Epoch = std::uint64_t;

  /// Returns the rule at `address`, or `kNone` if it is not cached.
  [[nodiscard]] UnwindRule find(std::uintptr_t address, Epoch epoch) const noexcept {
    const UnwindRule first = first_.find(address, epoch);
    if (first.kind != UnwindRule::Kind::kNone || !first_is_full()) return first;
    return later_.find(address, epoch);
  }

  void keep(std::uintptr_t address, const UnwindRule& rule, Epoch epoch) noexcept {
    if (first_is_full()) return later_.keep(address, rule, epoch);
    kept_.fetch_add(1, std::memory_order_relaxed);
    first_.keep(address, rule, epoch);
  }

 private:
  static constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;

  static std::uint64_t check_of(std::uintptr_t address, std::uint64_t rule, Epoch epoch) noexcept {
    return address ^ (rule + epoch) * kMultiplier;
  }

  template <int kBits>
  class Table {
   public:
    static constexpr std::size_t kSize = std::size_t{1} << kBits;

    [[nodiscard]] UnwindRule find(std::uintptr_t address, Epoch epoch) const noexcept {
      const Entry& entry = entries_[place_of(address)];
      const std::uint64_t rule = entry.rule.load(std::memory_order_relaxed);
      const std::uint64_t check = entry.check.load(std::memory_order_relaxed);
      const bool same = check == check_of(address, rule, epoch);
      return same ? std::bit_cast<UnwindRule>(rule) : UnwindRule{};
    }

    void keep(std::uintptr_t address, const UnwindRule& rule, Epoch epoch) noexcept {
      const auto bits = std::bit_cast<std::uint64_t>(rule);
      Entry& entry = entries_[place_of(address)];
      entry.rule.store(bits, std::memory_order_relaxed);
      entry.check.store(check_of(address, bits, epoch), std::memory_order_relaxed);
    }

   private:
    struct Entry {
      std::atomic<std::uint64_t> check;
      std::atomic<std::uint64_t> rule;
    };

    static std::size_t place_of(std::uintptr_t address) noexcept {
      return (address * kMultiplier) >> (64 - kBits);
    }

    ZeroedArray<Entry, kSize> entries_;
  };

  using First = Table<12>;

  /// Returns whether the first table is half full. More entries would collide too often.
  [[nodiscard]] bool first_is_full() const noexcept {
    return kept_.load(std::memory_order_relaxed) >= First::kSize / 2;
  }

  std::atomic<std::uint32_t> kept_{0};
  First first_;
  Table<16> later_;
};

namespace elf {
struct CallFrameRow;
}

/// Returns the unwind table row at `address`, or the row of a signal trampoline. Returns nullptr if
/// the address has no row, or the table is unreadable. Interprets the table on each call. The
/// result is valid until the thread's next call. Runs inside malloc. Not re-entrant on one thread,
/// which is safe because allocations of a signal handler that interrupts a capture are not
/// captured.
[[nodiscard]] const elf::CallFrameRow* find_unwind_row(std::uintptr_t address) noexcept;

/// The unwind rules of all loaded modules, read from their tables on first use. All members are
/// static. Thread-safe; runs inside malloc.
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

  /// Returns the epoch. Results derived from rules are valid while the epoch is unchanged.
  [[nodiscard]] static Epoch epoch() noexcept { return epoch_.load(std::memory_order_acquire); }

  /// Invalidates all rules. Call it after a module is unloaded, before the module's addresses are
  /// reused. Precondition: no thread still runs the unloaded code.
  static void forget_all() noexcept { epoch_.fetch_add(1, std::memory_order_release); }

 private:
  /// Returns the rule read from the unwind table, and caches it. Does not cache `kNone`, because a
  /// table may be registered later, and code without a rule ends the walk anyway. Preserves errno.
  static UnwindRule read_from_table(std::uintptr_t address, Epoch epoch) noexcept;

  static inline constinit UnwindRuleCache cache_;
  static inline constinit std::atomic<Epoch> epoch_{1};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/unwind_rules.hpp"
#endif
