/// Finds the block that contains an address.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/check/checked_block.hpp"
#include "alloctap/runtime/shadow_memory.hpp"

namespace alloctap {

/// An index of live and recently freed blocks by address, in shadow memory. The shadow word of a
/// block's first byte holds the block's number. The first shadow word of each further 4 KiB region
/// of the block holds the number too. If the block fills 64 or 64 * 64 aligned regions, only the
/// word of their first region holds the number. A look-up from any address in a block therefore
/// takes at most 258 steps. Huge blocks cost no time or memory for each page. Thread-safe; runs
/// inside malloc. Constant-initialized, never destroyed.
class CheckedBlocks {
 public:
  using Number = BlockPool::Number;
  using State = CheckedBlock::State;

  constexpr CheckedBlocks() noexcept = default;

  BlockPool& pool() noexcept { return pool_; }
  CheckedBlock& operator[](Number number) noexcept { return pool_[number]; }

  /// Returns whether a block at `begin` can be indexed: `begin` must be a multiple of 16.
  [[nodiscard]] static bool covers(const void* begin) noexcept {
    return ShadowMemory::covers(begin);
  }

  /// Inserts the block and marks it live. Precondition: the block's record is complete and `covers`
  /// is true for the block's address. Returns false if out of memory. If the index still has a
  /// block at this address, whose free was missed, sets `replaced` to that block, otherwise to
  /// `kNone`.
  [[nodiscard]] bool insert(Number number, Number& replaced) noexcept {
    CheckedBlock& block = pool_[number];
    Word* const word = memory_.make(block.begin());
    if (word == nullptr) return false;
    const Number before = word->exchange(number, std::memory_order_acq_rel);
    const bool was_block = before != kNone && (before & kContinued) == 0;
    replaced = was_block && end_life(before, block.begin()) ? before : kNone;
    for_each_region(block, [&](const void* region) {
      Word* const continued = memory_.make(region);
      if (continued != nullptr) {
        continued->store(number | kContinued, std::memory_order_relaxed);
      }
    });
    block.state.store(State::kLive, std::memory_order_release);
    return true;
  }

  /// Returns the live or freed block that begins at `pointer`, or `kNone`.
  [[nodiscard]] Number at(const void* pointer) noexcept {
    if (!covers(pointer)) return kNone;
    Word* const word = memory_.find_made(pointer);
    if (word == nullptr) return kNone;
    const Number number = word->load(std::memory_order_acquire);
    const bool is_begin = number != kNone && (number & kContinued) == 0;
    return is_begin && pool_[number].begin() == pointer ? number : kNone;
  }

  /// Returns the block whose bytes or red zones contain `pointer`. If a live and a freed block
  /// contain `pointer`, returns the live block. Returns `kNone` if no block contains `pointer`.
  [[nodiscard]] Number around(const void* pointer) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const std::uintptr_t granule = address / kGranule * kGranule;
    Number freed = kNone;
    // `pointer` may lie in the left red zone of a block that begins at a higher address.
    for (std::uintptr_t ahead = granule; ahead < granule + kFarthestFront; ahead += kGranule) {
      const Number number = begin_at(ahead);
      if (number == kNone) continue;
      if (holds(number, address, freed)) return number;
      break;
    }
    const std::uintptr_t region = address / kSteps[0] * kSteps[0];
    const std::uintptr_t highest = has_words(region) ? granule : 0;
    for (std::uintptr_t below = highest; below >= region && below > 0; below -= kGranule) {
      const Number number = any_at(below);
      if (number != kNone && holds(number, address, freed)) return number;
    }
    for (const std::uintptr_t step : {kSteps[1], kSteps[2]}) {
      const Number number = any_at(address / step * step);
      if (number != kNone && holds(number, address, freed)) return number;
    }
    return freed;
  }

  /// Returns the history of the block that contains `pointer`. If there is no such block, `known`
  /// is false.
  [[nodiscard]] BlockHistory story_around(const void* pointer) noexcept {
    const Number number = around(pointer);
    return number == kNone ? BlockHistory{} : pool_[number].story();
  }

  /// Returns the first block that begins in `(address, end)`, or `kNone`. Searches 4 KiB at most.
  [[nodiscard]] Number first_between(std::uintptr_t address, std::uintptr_t end) noexcept {
    end = std::min(end, address + ShadowMemory::kRegion);
    std::uintptr_t at = address / kGranule * kGranule + kGranule;
    while (at < end) {
      if (!has_words(at)) {
        at = at / ShadowMemory::kRegion * ShadowMemory::kRegion + ShadowMemory::kRegion;
        continue;
      }
      const Number number = begin_at(at);
      if (number != kNone) return number;
      at += kGranule;
    }
    return kNone;
  }

  /// Calls `visit(CheckedBlock&)` for each live block that overlaps `[page, page + bytes)`.
  template <class Visit>
  void for_each_live_at(std::uintptr_t page, std::size_t bytes, Visit&& visit) {
    Number number = around(reinterpret_cast<const void*>(page));
    if (number == kNone) number = first_between(page, page + bytes);
    while (number != kNone) {
      CheckedBlock& block = pool_[number];
      const auto begin = reinterpret_cast<std::uintptr_t>(block.begin());
      if (block.state.load(std::memory_order_acquire) == State::kLive) visit(block);
      number = first_between(std::max(begin, page), page + bytes);
    }
  }

  /// Marks block `number` as freed. Returns false if its record describes no live block at `begin`:
  /// another call freed the block, and the record may already describe another block.
  [[nodiscard]] bool end_life(Number number, const void* begin) noexcept {
    CheckedBlock& block = pool_[number];
    // Reads the address after the state. A live block's record does not change its address, so the
    // address read belongs to this block.
    State state = block.state.load(std::memory_order_acquire);
    if (state != State::kLive || block.begin() != begin) return false;
    return block.state.compare_exchange_strong(state, State::kFreed, std::memory_order_acq_rel);
  }

  /// Marks `pointer` as an unchecked block. Unchecked blocks belong to the tracker, or were
  /// allocated within another allocation call. The program may free some unchecked blocks.
  void register_unchecked_block(const void* pointer) noexcept {
    Word* const word = covers(pointer) ? memory_.make(pointer) : nullptr;
    if (word == nullptr) return misses_some_.store(true, std::memory_order_relaxed);
    word->store(kUnchecked, std::memory_order_release);
  }

  /// Returns whether the index has neither a block nor an unchecked mark for `pointer`.
  [[nodiscard]] bool is_unknown_block(const void* pointer) noexcept {
    Word* const word = covers(pointer) ? memory_.find_made(pointer) : nullptr;
    const bool is_noted = word != nullptr && word->load(std::memory_order_acquire) == kUnchecked;
    return !is_noted && around(pointer) == kNone;
  }

  /// Returns whether `pointer` has an unchecked mark, or may lack the mark because a mark was lost.
  [[nodiscard]] bool may_be_unchecked(const void* pointer) noexcept {
    Word* const word = covers(pointer) ? memory_.find_made(pointer) : nullptr;
    if (word == nullptr) return misses_some_.load(std::memory_order_relaxed);
    return word->load(std::memory_order_acquire) == kUnchecked;
  }

  /// Removes an unchecked mark. Returns false if `pointer` had no mark and no mark was lost.
  [[nodiscard]] bool take_unchecked(const void* pointer) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    if (!covers(pointer)) {
      return misses_some_.load(std::memory_order_relaxed) && address % kLeastAlignment == 0;
    }
    Word* const word = memory_.find_made(pointer);
    if (word == nullptr) return misses_some_.load(std::memory_order_relaxed);
    Number content = kUnchecked;
    return word->compare_exchange_strong(content, kNone, std::memory_order_acq_rel);
  }

  /// Removes a freed block from the index and returns its record to the pool.
  void forget(Number number, std::uint32_t hint) noexcept {
    const CheckedBlock& block = pool_[number];
    clear(block.begin(), number);
    for_each_region(block, [&](const void* region) { clear(region, number | kContinued); });
    pool_.give_back(number, hint);
  }

 private:
  using Word = ShadowMemory::Word;

  static constexpr Number kNone = BlockPool::kNone;
  static constexpr std::uintptr_t kGranule = 16;
  /// Bytes that one shadow word of a large block covers: one region, 64 regions, 64 * 64 regions.
  static constexpr std::array<std::uintptr_t, 3> kSteps{
      ShadowMemory::kRegion, 64 * ShadowMemory::kRegion, 4096 * ShadowMemory::kRegion};
  static constexpr Number kContinued = Number{1} << 31;
  static constexpr Number kNumber = kContinued - 1;
  static constexpr Number kUnchecked = ~Number{0};
  static_assert(BlockPool::kEnd < kNumber);
  static constexpr std::uintptr_t kLeastAlignment = 8;
  /// Bytes before a block in which an address is attributed to the block's left red zone.
  static constexpr std::uintptr_t kFarthestFront = 64;

  /// Returns whether a shadow word near `address` was ever written.
  [[nodiscard]] bool has_words(std::uintptr_t address) noexcept {
    const auto* const pointer = reinterpret_cast<const void*>(address);
    return covers(pointer) && memory_.find_made(pointer) != nullptr;
  }

  [[nodiscard]] Number begin_at(std::uintptr_t address) noexcept {
    return at(reinterpret_cast<const void*>(address));
  }

  /// Returns the block that begins at `address` or extends into the region at `address`.
  [[nodiscard]] Number any_at(std::uintptr_t address) noexcept {
    const auto* const pointer = reinterpret_cast<const void*>(address);
    Word* const word = covers(pointer) ? memory_.find_made(pointer) : nullptr;
    const Number content = word == nullptr ? kNone : word->load(std::memory_order_acquire);
    return content == kUnchecked ? kNone : content & kNumber;
  }

  /// Returns whether the block is live and contains `address`. If the block contains `address` but
  /// is freed, returns false, and sets `freed` to `number` unless `freed` is already set.
  bool holds(Number number, std::uintptr_t address, Number& freed) noexcept {
    const CheckedBlock& block = pool_[number];
    const auto begin = reinterpret_cast<std::uintptr_t>(block.begin());
    const bool is_inside =
        address >= begin - block.front_guard &&
        address < begin + std::max<std::uint64_t>(block.size, 1) + block.rear_guard;
    if (!is_inside) return false;
    const State state = block.state.load(std::memory_order_acquire);
    if (state == State::kFreed && freed == kNone) freed = number;
    return state == State::kLive;
  }

  /// Calls `visit` with the address of each region into which the block extends, except the region
  /// where it begins. Visits only the first of 64 or 64 * 64 aligned regions that the block fills.
  template <class Visit>
  static void for_each_region(const CheckedBlock& block, Visit&& visit) {
    const auto begin = reinterpret_cast<std::uintptr_t>(block.begin());
    const std::uintptr_t end = begin + block.size + block.rear_guard;
    std::uintptr_t region = (begin / kSteps[0] + 1) * kSteps[0];
    while (region < end) {
      visit(reinterpret_cast<const void*>(region));
      std::uintptr_t next = region;
      for (const std::uintptr_t step : kSteps) {
        if (region % step == 0 && (step == kSteps[0] || step <= end - region)) next = region + step;
      }
      region = next;
    }
  }

  void clear(const void* pointer, Number content) noexcept {
    Word* const word = memory_.find_made(pointer);
    if (word != nullptr) {
      word->compare_exchange_strong(content, kNone, std::memory_order_acq_rel);
    }
  }

  BlockPool pool_;
  ShadowMemory memory_;
  /// Whether an unchecked mark was lost because the index was out of memory.
  std::atomic<bool> misses_some_{false};
};

}  // namespace alloctap
