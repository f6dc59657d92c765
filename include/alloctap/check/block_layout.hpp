/// Where the guards of a block are, what fills it, and whether it is as it should be.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/check/byte_pattern.hpp"
#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/checked_block.hpp"
#include "alloctap/event/block_checks.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "alloctap/runtime/touched_memory.hpp"

namespace alloctap {

/// Everything that a block of the allocator is made of, from its begin:
///
///     front guard | what the program asked for | room to expand | rear guard
///
/// Pure functions of settings and records; they run inside malloc.
class BlockLayout {
 public:
  /// Whether an allocator can have such a block. It is asked for others as they are: it refuses
  /// them, or hands out a smaller block (libstdc++ rounds sizes up to 0).
  [[nodiscard]] static bool is_possible(const AllocationRequest& wanted) noexcept {
    return wanted.size <= kLargest && wanted.alignment <= kLargest;
  }

  /// What to ask of the allocator; `number` is left to the caller. An allocator that takes an
  /// alignment that is no power of two rounds it up to the next one, as glibc's does.
  [[nodiscard]] static BlockPlan plan(const CheckSettings& settings,
                                      const AllocationRequest& wanted) noexcept {
    if (!is_possible(wanted)) return plain(wanted);
    const std::size_t step = std::bit_ceil(std::max(kGranule, wanted.alignment));
    const std::size_t guard = step <= kLargestStep ? settings.front_guard : 0;
    const std::size_t front = (guard + step - 1) / step * step;
    const std::size_t bytes = front + wanted.size + settings.expand + settings.rear_guard;
    return {.bytes = std::max(bytes, kGranule), .front = front};
  }

  /// Returns the plan of a block that no record is kept of.
  [[nodiscard]] static BlockPlan plan_unrecorded(const CheckSettings& settings,
                                                 const AllocationRequest& wanted) noexcept {
    return surrounds(settings) ? plan(settings, wanted) : plain(wanted);
  }

  /// A block without anything around it.
  [[nodiscard]] static BlockPlan plain(const AllocationRequest& wanted) noexcept {
    return {.bytes = wanted.size};
  }

  /// Fills the record of a block of the allocator's, which is had by `plan` and begins at `raw`.
  static void describe(const CheckSettings& settings, CheckedBlock& block, const BlockPlan& plan,
                       std::byte* raw, const AllocationRequest& wanted,
                       const BlockCall& call) noexcept {
    block.kind = wanted.kind;
    block.guarded = false;
    block.set_alignment(wanted.alignment);
    block.front = static_cast<std::uint32_t>(plan.front);
    block.front_guard = static_cast<std::uint32_t>(
        std::min(plan.front, std::max(settings.front_guard, kMaxFrontBytes)));
    block.rear_guard = static_cast<std::uint32_t>(settings.rear_guard);
    block.set_begin(raw + plan.front);
    block.size = wanted.size;
    block.heap = wanted.heap;
    block.allocated = call;
    block.gone = {};
    block.pages.store(PageChange::kNone, std::memory_order_relaxed);
  }

  /// How such a block goes back; `number` is left to the caller.
  [[nodiscard]] static ReleasePlan release_plan(const CheckedBlock& block) noexcept {
    return {.action = ReleasePlan::Action::kRelease,
            .block = block.raw(),
            .kind = block.kind,
            .alignment = block.alignment(),
            .heap = block.heap};
  }

  static void write_guards(const CheckSettings& settings, const CheckedBlock& block) noexcept {
    std::memset(block.begin() - block.front_guard, kFrontGuardByte, block.front_guard);
    std::memset(rear_of(settings, block), kRearGuardByte, block.rear_guard);
  }

  /// Writes those of the guards that have bytes in `[from, to)`.
  static void rewrite_guards(const CheckSettings& settings, const CheckedBlock& block,
                             std::uintptr_t from, std::uintptr_t to) noexcept {
    const auto rewrite = [&](std::byte* guard, std::size_t bytes, std::uint8_t byte) {
      const auto begin = reinterpret_cast<std::uintptr_t>(guard);
      if (begin < to && begin + bytes > from) std::memset(guard, byte, bytes);
    };
    rewrite(block.begin() - block.front_guard, block.front_guard, kFrontGuardByte);
    rewrite(rear_of(settings, block), block.rear_guard, kRearGuardByte);
  }

  /// Whether the system lets this thread write what of the block and its guards was ever touched.
  [[nodiscard]] static bool may_write(const CheckSettings& settings,
                                      const CheckedBlock& block) noexcept {
    std::byte* const begin = block.begin() - block.front_guard;
    std::byte* const end = rear_of(settings, block) + block.rear_guard;
    bool may = true;
    visit_touched(begin, static_cast<std::size_t>(end - begin), [&](std::byte* part, auto bytes) {
      may = may && os::may_write(reinterpret_cast<std::uintptr_t>(part), bytes);
    });
    return may;
  }

  /// Bytes that the program may use.
  [[nodiscard]] static std::size_t usable_bytes(const CheckSettings& settings,
                                                const CheckedBlock& block) noexcept {
    return block.size + (block.guarded ? 0 : settings.expand);
  }

  /// Fills a block that comes, but for the untouched pages of a large one.
  static void fill_new(const CheckSettings& settings, void* block, std::size_t size) noexcept {
    fill(static_cast<std::byte*>(block), std::min(settings.fill_on_allocate, size), kAllocatedByte);
  }

  /// Fills a block that is freed without a quarantine.
  static void fill_freed(const CheckSettings& settings, const CheckedBlock& block) noexcept {
    fill(block.begin(), filled(settings.fill_on_free, block), kFreedByte);
  }

  /// Fills a block that is kept, guards too, and remembers which parts of it are to stay so.
  static void prepare_kept(const CheckSettings& settings, CheckedBlock& block) noexcept {
    block.filled.fill(block.begin(), filled(settings.fill_on_free, block), kFreedByte);
    write_guards(settings, block);
  }

  /// Fills the parts of a kept block again.
  static void refill_kept(const CheckedBlock& block) noexcept {
    block.filled.for_each(block.begin(), [](std::byte* part, std::size_t bytes, auto byte) {
      std::memset(part, byte, bytes);
    });
  }

  [[nodiscard]] static ChangedBytes front_changes(const CheckedBlock& block) noexcept {
    return find_changes(block.begin() - block.front_guard, block.front_guard, kFrontGuardByte,
                        block.begin());
  }
  [[nodiscard]] static ChangedBytes rear_changes(const CheckSettings& settings,
                                                 const CheckedBlock& block) noexcept {
    return find_changes(rear_of(settings, block), block.rear_guard, kRearGuardByte, block.begin());
  }
  /// Of a block that was filled by `prepare_kept`.
  [[nodiscard]] static ChangedBytes freed_changes(const CheckedBlock& block) noexcept {
    ChangedBytes changes{.expected = kFreedByte};
    block.filled.for_each(block.begin(), [&](const std::byte* part, std::size_t bytes, auto byte) {
      changes.add(find_changes(part, bytes, byte, block.begin()));
    });
    return changes;
  }

  /// Bytes of the program's and around them.
  [[nodiscard]] static std::size_t bytes_of(const CheckedBlock& block) noexcept {
    return block.front + block.size + block.rear_guard;
  }

 private:
  static constexpr std::size_t kGranule = 16;
  static constexpr std::size_t kLargest = PTRDIFF_MAX / 2;
  /// Blocks of a larger alignment have no guard in front, which would take as many bytes: the size
  /// of a huge page.
  static constexpr std::size_t kLargestStep = std::size_t{2} << 20;

  /// Bytes of what an alignment leaves in front of a block that are a guard as well: more would
  /// bring in pages without use.
  static constexpr std::size_t kMaxFrontBytes = 4096;

  /// Whether anything is to stand around blocks of the allocator.
  static bool surrounds(const CheckSettings& settings) noexcept {
    return (settings.front_guard | settings.rear_guard | settings.expand) != 0;
  }

  static std::byte* rear_of(const CheckSettings& settings, const CheckedBlock& block) noexcept {
    return block.begin() + usable_bytes(settings, block);
  }
  static void fill(std::byte* begin, std::size_t bytes, std::uint8_t byte) noexcept {
    visit_touched(begin, bytes,
                  [byte](std::byte* part, std::size_t size) { std::memset(part, byte, size); });
  }
  static std::size_t filled(std::size_t most, const CheckedBlock& block) noexcept {
    return std::min<std::size_t>(most, block.size);
  }
};

}  // namespace alloctap
