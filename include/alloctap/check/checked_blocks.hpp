/// Which block an address belongs to.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/check/block_pool.hpp"
#include "alloctap/check/checked_block.hpp"
#include "alloctap/runtime/shadow_memory.hpp"

namespace alloctap {

/// Live blocks, and those that were freed for as long as they are remembered, by address. The word
/// of `ShadowMemory` at which a block begins says its number, and so do the first words of the
/// 4 KiB regions that it reaches into; of 64 regions, or of 64 times 64, that belong to one block
/// only the first. So a block is found from any address inside it in 258 steps at most, and a huge
/// one takes no time and memory for each of its pages. Thread-safe; runs inside malloc.
/// Constant-initialized, never destroyed.
class CheckedBlocks {
 public:
  using Number = BlockPool::Number;
  using State = CheckedBlock::State;

  constexpr CheckedBlocks() noexcept = default;

  BlockPool& pool() noexcept { return pool_; }
  CheckedBlock& operator[](Number number) noexcept { return pool_[number]; }

  /// Whether a block that begins there can be kept: at multiples of 16.
  [[nodiscard]] static bool covers(const void* begin) noexcept {
    return ShadowMemory::covers(begin);
  }

  /// Makes `number`, whose record is complete and begins where `covers` says so, known as live;
  /// false where the system has no memory for that. `replaced` is the number of what began there
  /// before and is live in name alone, its free having passed unseen; or `kNone`.
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

  /// The block that begins at `pointer`, live or freed; `kNone` where none is known.
  [[nodiscard]] Number at(const void* pointer) noexcept {
    if (!covers(pointer)) return kNone;
    Word* const word = memory_.find_made(pointer);
    if (word == nullptr) return kNone;
    const Number number = word->load(std::memory_order_acquire);
    const bool is_begin = number != kNone && (number & kContinued) == 0;
    return is_begin && pool_[number].begin() == pointer ? number : kNone;
  }

  /// The block that `pointer` lies in: a live one if there is one, else one that was freed. The
  /// guards belong to it.
  [[nodiscard]] Number around(const void* pointer) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const std::uintptr_t granule = address / kGranule * kGranule;
    Number freed = kNone;
    // A guard in front is part of a block that begins further up.
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

  /// What is known of that block; `known` is false where none is.
  [[nodiscard]] BlockHistory story_around(const void* pointer) noexcept {
    const Number number = around(pointer);
    return number == kNone ? BlockHistory{} : pool_[number].story();
  }

  /// The first block that begins behind `address` and before `end`, and at most a region further
  /// up; `kNone` where none does.
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

  /// Calls `visit(CheckedBlock&)` for the live block that `page` lies in and those that begin in
  /// it.
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

  /// From live to freed, for the block that begins at `begin`. False where it is not live there: it
  /// was freed already, perhaps at this moment by another thread, and its record may be another's.
  [[nodiscard]] bool end_life(Number number, const void* begin) noexcept {
    CheckedBlock& block = pool_[number];
    // In this order: only a live record stays where it is, so what begins there after it was seen
    // to be live is the same block.
    State state = block.state.load(std::memory_order_acquire);
    if (state != State::kLive || block.begin() != begin) return false;
    return block.state.compare_exchange_strong(state, State::kFreed, std::memory_order_acq_rel);
  }

  /// What begins at `pointer` is a block now that is not looked after: of the tracker, or of the
  /// allocator on the way of another call. Some of these end in the program's hands.
  void register_unchecked_block(const void* pointer) noexcept {
    Word* const word = covers(pointer) ? memory_.make(pointer) : nullptr;
    if (word == nullptr) return misses_some_.store(true, std::memory_order_relaxed);
    word->store(kUnchecked, std::memory_order_release);
  }

  /// Whether nothing is known of what stands at `pointer`, neither that nor a block.
  [[nodiscard]] bool is_unknown_block(const void* pointer) noexcept {
    Word* const word = covers(pointer) ? memory_.find_made(pointer) : nullptr;
    const bool is_noted = word != nullptr && word->load(std::memory_order_acquire) == kUnchecked;
    return !is_noted && around(pointer) == kNone;
  }

  /// Whether that is, or may be, what begins at `pointer`.
  [[nodiscard]] bool may_be_unchecked(const void* pointer) noexcept {
    Word* const word = covers(pointer) ? memory_.find_made(pointer) : nullptr;
    if (word == nullptr) return misses_some_.load(std::memory_order_relaxed);
    return word->load(std::memory_order_acquire) == kUnchecked;
  }

  /// The same; it is forgotten.
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

  /// The record of `number` is no longer found by its address.
  void hide(Number number) noexcept { clear(pool_[number].begin(), number); }

  /// Forgets `number`, which is freed, and gives its record back.
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
  /// Bytes, from regions to what stands for many of them.
  static constexpr std::array<std::uintptr_t, 3> kSteps{
      ShadowMemory::kRegion, 64 * ShadowMemory::kRegion, 4096 * ShadowMemory::kRegion};
  static constexpr Number kContinued = Number{1} << 31;
  static constexpr Number kNumber = kContinued - 1;
  static constexpr Number kUnchecked = ~Number{0};
  static_assert(BlockPool::kEnd < kNumber);
  static constexpr std::uintptr_t kLeastAlignment = 8;
  /// Bytes. An address that lies in a front guard further out is nobody's.
  static constexpr std::uintptr_t kFarthestFront = 64;

  /// Whether anything was ever noted near it.
  [[nodiscard]] bool has_words(std::uintptr_t address) noexcept {
    const auto* const pointer = reinterpret_cast<const void*>(address);
    return covers(pointer) && memory_.find_made(pointer) != nullptr;
  }

  [[nodiscard]] Number begin_at(std::uintptr_t address) noexcept {
    return at(reinterpret_cast<const void*>(address));
  }

  /// Of the block that begins there or reaches into the region that begins there.
  [[nodiscard]] Number any_at(std::uintptr_t address) noexcept {
    const auto* const pointer = reinterpret_cast<const void*>(address);
    Word* const word = covers(pointer) ? memory_.find_made(pointer) : nullptr;
    const Number content = word == nullptr ? kNone : word->load(std::memory_order_acquire);
    return content == kUnchecked ? kNone : content & kNumber;
  }

  /// Whether the block is live and `address` in it; notes in `freed` one that is not live.
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

  /// Calls `visit` with the first address of each region behind the begin that the block reaches,
  /// or of so many regions as lie in one of `kSteps` that the block has to itself.
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
  /// Whether a block that is not looked after could not be noted.
  std::atomic<bool> misses_some_{false};
};

}  // namespace alloctap
