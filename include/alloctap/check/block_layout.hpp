/// Computes the layout of blocks with red zones; writes and verifies red zones and fill patterns.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/checked_block.hpp"
#include "alloctap/check/misuse.hpp"
#include "alloctap/event/block_checks.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "alloctap/runtime/shadow_memory.hpp"

namespace alloctap {

/// The layout of a checked block within the allocator's block, from low to high addresses:
///
///     left red zone | requested bytes | bytes of Expand | right red zone
///
/// Pure functions of settings and records; they run inside malloc.
class BlockLayout {
 public:
  /// Returns whether size and alignment can be padded without overflow. Otherwise, the request must
  /// reach the allocator unchanged: the allocator refuses the request, or returns a smaller block
  /// (libstdc++ rounds a huge size up to 0).
  [[nodiscard]] static bool is_possible(const AllocationRequest& wanted) noexcept {
    return wanted.size <= kLargest && wanted.alignment <= kLargest;
  }

  /// Returns the size and alignment to request from the allocator. Does not set
  /// `BlockPlan::number`. Rounds an alignment up to a power of two, as glibc does.
  [[nodiscard]] static BlockPlan plan(const CheckSettings& settings,
                                      const AllocationRequest& wanted) noexcept {
    if (!is_possible(wanted)) return plain(wanted);
    const std::size_t step = std::bit_ceil(std::max(kGranule, wanted.alignment));
    const std::size_t guard = step <= kLargestStep ? settings.front_guard : 0;
    const std::size_t front = (guard + step - 1) / step * step;
    const std::size_t bytes = front + wanted.size + settings.expand + settings.rear_guard;
    return {.bytes = std::max(bytes, kGranule), .front = front};
  }

  /// Returns the plan of a block without a record. Pads only if red zones or `expand` are on.
  [[nodiscard]] static BlockPlan plan_unrecorded(const CheckSettings& settings,
                                                 const AllocationRequest& wanted) noexcept {
    return surrounds(settings) ? plan(settings, wanted) : plain(wanted);
  }

  /// Returns a plan to allocate what the program requested, without padding.
  [[nodiscard]] static BlockPlan plain(const AllocationRequest& wanted) noexcept {
    return {.bytes = wanted.size};
  }

  /// Writes the record of a block that the allocator returned at `raw` for `plan`.
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

  /// Returns pointer, size and alignment for the allocator's free. Leaves `number` unset.
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

  /// Rewrites the red zones that overlap `[from, to)`.
  static void rewrite_guards(const CheckSettings& settings, const CheckedBlock& block,
                             std::uintptr_t from, std::uintptr_t to) noexcept {
    const auto rewrite = [&](std::byte* guard, std::size_t bytes, std::uint8_t byte) {
      const auto begin = reinterpret_cast<std::uintptr_t>(guard);
      if (begin < to && begin + bytes > from) std::memset(guard, byte, bytes);
    };
    rewrite(block.begin() - block.front_guard, block.front_guard, kFrontGuardByte);
    rewrite(rear_of(settings, block), block.rear_guard, kRearGuardByte);
  }

  /// Returns whether all resident pages of the block and its red zones are writable.
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

  /// Returns the bytes that the program may use.
  [[nodiscard]] static std::size_t usable_bytes(const CheckSettings& settings,
                                                const CheckedBlock& block) noexcept {
    return block.size + (block.guarded ? 0 : settings.expand);
  }

  /// Fills a new block with `kAllocatedByte`. Skips pages of a large block that are not resident.
  static void fill_new(const CheckSettings& settings, void* block, std::size_t size) noexcept {
    fill(static_cast<std::byte*>(block), std::min(settings.fill_on_allocate, size), kAllocatedByte);
  }

  /// Fills a freed, not quarantined block with `kFreedByte`.
  static void fill_freed(const CheckSettings& settings, const CheckedBlock& block) noexcept {
    fill(block.begin(), filled(settings.fill_on_free, block), kFreedByte);
  }

  /// Fills a block for the quarantine, rewrites its red zones, and records which pages it filled.
  static void prepare_kept(const CheckSettings& settings, CheckedBlock& block) noexcept {
    block.filled.fill(block.begin(), filled(settings.fill_on_free, block), kFreedByte);
    write_guards(settings, block);
  }

  /// Restores the fill of a quarantined block after a write to the block was reported.
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
  /// Returns the bytes changed since `prepare_kept`.
  [[nodiscard]] static ChangedBytes freed_changes(const CheckedBlock& block) noexcept {
    ChangedBytes changes{.expected = kFreedByte};
    block.filled.for_each(block.begin(), [&](const std::byte* part, std::size_t bytes, auto byte) {
      changes.add(find_changes(part, bytes, byte, block.begin()));
    });
    return changes;
  }

  /// Returns the requested bytes plus both red zones.
  [[nodiscard]] static std::size_t bytes_of(const CheckedBlock& block) noexcept {
    return block.front + block.size + block.rear_guard;
  }

 private:
  static constexpr std::size_t kGranule = 16;
  static constexpr std::size_t kLargest = PTRDIFF_MAX / 2;
  /// Blocks with a larger alignment get no left red zone, because its size would be at least the
  /// alignment. 2 MiB is the size of a huge page.
  static constexpr std::size_t kLargestStep = std::size_t{2} << 20;

  /// Maximum bytes of alignment padding used as red zone. Larger zones only make pages resident.
  static constexpr std::size_t kMaxFrontBytes = 4096;

  /// Returns whether any setting pads blocks.
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
