/// The unwind rules that were met before.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "alloctap/guard/zeroed_array.hpp"
#include "alloctap/stack/unwind_rule.hpp"

namespace alloctap {

/// A direct-mapped table of rules by the address of a call. Lock-free and thread-safe without
/// ordering: an entry holds the rule and its address mixed with the rule, so that a torn read, half
/// of it another thread's, matches no address and counts as a miss. Constant-initialized; what is
/// never touched costs no memory.
class RuleCache {
 public:
  /// Changes whenever code may have gone; rules are found only under the epoch they were kept in.
  using Epoch = std::uint64_t;

  /// `kNone` where the rule is not there.
  [[nodiscard]] UnwindRule find(std::uintptr_t address, Epoch epoch) const noexcept {
    const Entry& entry = entries_[place_of(address)];
    const std::uint64_t rule = entry.rule.load(std::memory_order_relaxed);
    const std::uint64_t check = entry.check.load(std::memory_order_relaxed);
    return check == check_of(address, rule, epoch) ? std::bit_cast<UnwindRule>(rule) : UnwindRule{};
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

  static constexpr std::size_t kBits = 16;
  static constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;

  static std::size_t place_of(std::uintptr_t address) noexcept {
    return (address * kMultiplier) >> (64 - kBits);
  }

  static std::uint64_t check_of(std::uintptr_t address, std::uint64_t rule, Epoch epoch) noexcept {
    return address ^ (rule + epoch) * kMultiplier;
  }

  ZeroedArray<Entry, std::size_t{1} << kBits> entries_;
};

}  // namespace alloctap
