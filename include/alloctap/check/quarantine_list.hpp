/// Quarantined blocks, and the history of blocks freed before them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/check/block_layout.hpp"
#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/checked_block.hpp"
#include "alloctap/check/checked_blocks.hpp"
#include "alloctap/runtime/arena.hpp"

namespace alloctap {

/// A FIFO of freed blocks: a ring buffer of block numbers with a fixed capacity. Not thread-safe;
/// runs inside malloc. Constant-initialized, never destroyed.
class FreedBlocks {
 public:
  using Number = BlockPool::Number;

  constexpr FreedBlocks() noexcept = default;
  FreedBlocks(const FreedBlocks&) = delete;
  FreedBlocks& operator=(const FreedBlocks&) = delete;

  /// Adds the newest block. The first call sets the capacity to `places`. Returns false if the
  /// buffer is full or out of memory.
  [[nodiscard]] bool push(Number number, std::uint32_t places) noexcept {
    if (numbers_ == nullptr && !make(places)) return false;
    if (size_ == places_) return false;
    numbers_[(first_ + size_) % places_] = number;
    ++size_;
    return true;
  }

  /// Removes the oldest block. Precondition: not empty.
  [[nodiscard]] Number pop() noexcept {
    const Number number = numbers_[first_];
    first_ = (first_ + 1) % places_;
    --size_;
    return number;
  }

  /// Removes the blocks for which `leave(Number)` returns true; keeps the order of the others.
  template <class Leave>
  void remove_if(Leave&& leave) {
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < size_; ++i) {
      const Number number = numbers_[(first_ + i) % places_];
      if (!leave(number)) numbers_[(first_ + kept++) % places_] = number;
    }
    size_ = kept;
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] bool full() const noexcept { return numbers_ != nullptr && size_ == places_; }

  /// Calls `visit(Number)` for each block, oldest first.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::uint32_t i = 0; i < size_; ++i) visit(numbers_[(first_ + i) % places_]);
  }

 private:
  bool make(std::uint32_t places) noexcept {
    if (places == 0) return false;
    numbers_ = static_cast<Number*>(Arena::allocate(places * sizeof(Number)));
    places_ = numbers_ == nullptr ? 0 : places;
    return numbers_ != nullptr;
  }

  Number* numbers_ = nullptr;
  std::uint32_t places_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t size_ = 0;
};

/// Two bounded FIFOs: quarantined blocks, and the records of blocks that left the quarantine or
/// skipped it. The settings must not change between calls. Not thread-safe, except for
/// `is_overfull`; runs inside malloc. Constant-initialized, never destroyed.
class QuarantineList {
 public:
  using Number = BlockPool::Number;

  constexpr QuarantineList() noexcept = default;

  /// Returns whether the quarantine exceeds its limits, so that the caller must remove a block.
  [[nodiscard]] bool is_overfull() const noexcept {
    return overfull_.load(std::memory_order_relaxed);
  }

  /// Returns whether the quarantine is on and the block is small enough for it.
  [[nodiscard]] static bool takes(const CheckSettings& settings,
                                  const CheckedBlock& block) noexcept {
    return settings.quarantine_blocks > 0 &&
           BlockLayout::bytes_of(block) <= settings.quarantine_bytes;
  }

  /// Adds a block to the quarantine. Returns false if the queue is full or out of memory.
  [[nodiscard]] bool push(const CheckSettings& settings, CheckedBlocks& blocks,
                          Number number) noexcept {
    if (!quarantine_.push(number, settings.quarantine_blocks + kSpare)) return false;
    blocks[number].kept.store(true, std::memory_order_relaxed);
    bytes_ += BlockLayout::bytes_of(blocks[number]);
    note_fullness(settings);
    return true;
  }

  /// Removes the oldest block. Precondition: not empty.
  [[nodiscard]] Number pop(const CheckSettings& settings, CheckedBlocks& blocks) noexcept {
    const Number number = quarantine_.pop();
    bytes_ -= BlockLayout::bytes_of(blocks[number]);
    note_fullness(settings);
    return number;
  }

  /// Removes the blocks for which `wants(Number)` returns true.
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

  /// Calls `visit(Number)` for each quarantined block.
  template <class Visit>
  void for_each(Visit&& visit) const {
    quarantine_.for_each(visit);
  }

  /// Keeps the record of a block that is returned to the allocator. If the FIFO of records is full,
  /// drops the oldest record.
  void remember(const CheckSettings& settings, CheckedBlocks& blocks, Number number,
                std::uint32_t hint) noexcept {
    blocks[number].kept.store(false, std::memory_order_relaxed);
    blocks[number].filled.release();
    if (remembered_.full()) blocks.forget(remembered_.pop(), hint);
    if (!remembered_.push(number, settings.remembered_frees)) blocks.forget(number, hint);
  }

 private:
  /// Extra slots in the queue, because other threads may push before the first thread evicts.
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
