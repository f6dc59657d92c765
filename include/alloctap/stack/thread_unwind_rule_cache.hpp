/// A per-thread cache of unwind rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/stack/unwind_rule.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap {

/// A small direct-mapped cache in front of `UnwindRules`, keyed by call address. The shared table
/// exceeds the inner caches of a processor, and a walk has one dependent look-up per frame. Belongs
/// to one thread; runs inside malloc.
class ThreadUnwindRuleCache {
  struct Entry {
    std::uintptr_t address;
    UnwindRule rule;
  };

 public:
  using Epoch = UnwindRules::Epoch;

  /// A view of one epoch's rules, for one walk; valid until `of` gets another epoch.
  class OfEpoch {
   public:
    /// Returns what `UnwindRules::find` returns.
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

    /// nullptr if out of memory.
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

  /// Does not cache `kNone`, as `UnwindRules` does not.
  ALLOCTAP_NOINLINE static UnwindRule find_uncached(std::uintptr_t address, Epoch epoch,
                                                    Entry& entry) noexcept {
    const UnwindRule rule = UnwindRules::find(address, epoch);
    if (rule.kind != UnwindRule::Kind::kNone) entry = {address, rule};
    return rule;
  }

  /// Empties the cache. Returns false if out of memory.
  ALLOCTAP_NOINLINE bool begin(Epoch epoch) noexcept {
    if (entries_ != nullptr) {
      std::memset(static_cast<void*>(entries_), 0, kBytes);
    } else {
      // Zeroed: no call has the address 0.
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
