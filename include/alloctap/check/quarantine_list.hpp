/// Freed blocks that are kept from the allocator, and those that are remembered beyond that.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/check/block_layout.hpp"
#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/checked_blocks.hpp"
#include "alloctap/check/freed_blocks.hpp"

namespace alloctap {

/// Both are bounded, by settings that are the same in every call. Not thread-safe, but for
/// `is_overfull`; runs inside malloc. Constant-initialized, never destroyed.
class QuarantineList {
 public:
  using Number = BlockPool::Number;

  constexpr QuarantineList() noexcept = default;

  /// Whether a block is due for the allocator.
  [[nodiscard]] bool is_overfull() const noexcept {
    return overfull_.load(std::memory_order_relaxed);
  }

  /// Whether such a block may be kept at all.
  [[nodiscard]] static bool takes(const CheckSettings& settings,
                                  const CheckedBlock& block) noexcept {
    return settings.quarantine_blocks > 0 &&
           BlockLayout::bytes_of(block) <= settings.quarantine_bytes;
  }

  /// False where there is no room for `number`.
  [[nodiscard]] bool push(const CheckSettings& settings, CheckedBlocks& blocks,
                          Number number) noexcept {
    if (!quarantine_.push(number, settings.quarantine_blocks + kSpare)) return false;
    blocks[number].kept.store(true, std::memory_order_relaxed);
    bytes_ += BlockLayout::bytes_of(blocks[number]);
    note_fullness(settings);
    return true;
  }

  /// The one that is kept for the longest time. Precondition: there is one.
  [[nodiscard]] Number pop(const CheckSettings& settings, CheckedBlocks& blocks) noexcept {
    const Number number = quarantine_.pop();
    bytes_ -= BlockLayout::bytes_of(blocks[number]);
    note_fullness(settings);
    return number;
  }

  /// Keeps none of those that `wants(Number)` says so of.
  template <class Wants>
  void remove_if(const CheckSettings& settings, CheckedBlocks& blocks, Wants&& wants) noexcept {
    quarantine_.remove_if([&](Number number) {
      const std::size_t bytes = BlockLayout::bytes_of(blocks[number]);
      if (!wants(number)) return false;
      bytes_ -= bytes;
      return true;
    });
    note_fullness(settings);
  }

  /// Calls `visit(Number)` for each that is kept.
  template <class Visit>
  void for_each(Visit&& visit) const {
    quarantine_.for_each(visit);
  }

  /// `number` is with the allocator again. The oldest such one is forgotten where there is no room.
  void remember(const CheckSettings& settings, CheckedBlocks& blocks, Number number,
                std::uint32_t hint) noexcept {
    blocks[number].kept.store(false, std::memory_order_relaxed);
    blocks[number].filled.release();
    if (remembered_.full()) blocks.forget(remembered_.pop(), hint);
    if (!remembered_.push(number, settings.remembered_frees)) blocks.forget(number, hint);
  }

 private:
  /// Threads may all have pushed before the first of them evicts.
  static constexpr std::uint32_t kSpare = 1024;

  void note_fullness(const CheckSettings& settings) noexcept {
    overfull_.store(
        quarantine_.size() > settings.quarantine_blocks || bytes_ > settings.quarantine_bytes,
        std::memory_order_relaxed);
  }

  FreedBlocks quarantine_;
  FreedBlocks remembered_;
  std::size_t bytes_ = 0;
  std::atomic<bool> overfull_{false};
};

}  // namespace alloctap
