/// The unwind rules that one thread met lately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/stack/unwind_rule.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap {

/// A small table in front of `UnwindRules`, which all threads share and which is too large for the
/// inner caches of a processor: a walk waits for the rule of each frame before it can ask for the
/// next. Direct-mapped, by the address of a call. Belongs to one thread; runs inside malloc.
class ThreadUnwindRuleCache {
  struct Entry {
    std::uintptr_t address;
    UnwindRule rule;
  };

 public:
  using Epoch = UnwindRules::Epoch;

  /// Those of one epoch, for one walk: valid until there are some of another.
  class OfEpoch {
   public:
    /// As `UnwindRules::find`.
    [[nodiscard]] ALLOCTAP_ALWAYS_INLINE UnwindRule find(std::uintptr_t address) const noexcept {
      if (entries_ == nullptr) [[unlikely]] {
        return UnwindRules::find(address, epoch_);
      }
      Entry& entry = entries_[place_of(address)];
      if (entry.address != address) [[unlikely]] {
        return find_uncached(address, epoch_, entry);
      }
      return entry.rule;
    }

   private:
    friend ThreadUnwindRuleCache;
    OfEpoch(Entry* entries, Epoch epoch) noexcept : entries_(entries), epoch_(epoch) {}

    /// nullptr where the system has no memory.
    Entry* entries_;
    Epoch epoch_;
  };

  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE OfEpoch of(Epoch epoch) noexcept {
    if (epoch != epoch_) [[unlikely]] {
      if (!begin(epoch)) return {nullptr, epoch};
    }
    return {entries_, epoch};
  }

 private:
  static constexpr std::size_t kBits = 12;
  static constexpr std::size_t kBytes = sizeof(Entry) << kBits;

  static std::size_t place_of(std::uintptr_t address) noexcept {
    return (address * 0x9E3779B97F4A7C15) >> (64 - kBits);
  }

  /// What has no rule is asked for each time, as there.
  ALLOCTAP_NOINLINE static UnwindRule find_uncached(std::uintptr_t address, Epoch epoch,
                                                    Entry& entry) noexcept {
    const UnwindRule rule = UnwindRules::find(address, epoch);
    if (rule.kind != UnwindRule::Kind::kNone) entry = {address, rule};
    return rule;
  }

  /// Forgets all rules. False where the system has no memory.
  ALLOCTAP_NOINLINE bool begin(Epoch epoch) noexcept {
    if (entries_ != nullptr) {
      std::memset(static_cast<void*>(entries_), 0, kBytes);
    } else {
      // Zeroed, and no call has the address 0.
      entries_ = static_cast<Entry*>(Arena::allocate_pages(kBytes));
    }
    if (entries_ != nullptr) epoch_ = epoch;
    return entries_ != nullptr;
  }

  Entry* entries_ = nullptr;
  /// Epochs begin at 1.
  Epoch epoch_ = 0;
};

}  // namespace alloctap
