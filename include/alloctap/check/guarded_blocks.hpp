/// Blocks placed beside guard pages.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/check/block_layout.hpp"
#include "alloctap/check/block_pool.hpp"
#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/guard_budget.hpp"
#include "alloctap/check/guard_page_stats.hpp"
#include "alloctap/check/guard_sampler.hpp"
#include "alloctap/check/guarded_pool.hpp"
#include "alloctap/event/block_checks.hpp"

namespace alloctap {

/// Places blocks in the pages of a `GuardedPool` and finds the block of an address. Their records
/// live in a `BlockPool`. Thread-safe; runs inside malloc. `contains`, `at` and `nearest` may run
/// in a signal handler. Constant-initialized, never destroyed.
class GuardedBlocks {
 public:
  using Number = BlockPool::Number;

  constexpr GuardedBlocks() noexcept = default;

  [[nodiscard]] bool contains(const void* address) const noexcept {
    return pool_.contains(address);
  }

  [[nodiscard]] GuardPageStats account(const CheckSettings& settings) const noexcept;

  /// Returns a plan for a block beside a guard page, without a `place` if pool or budget is
  /// exhausted. Sets the address and the red zones in the block's record.
  [[nodiscard]] BlockPlan place(const CheckSettings& settings, const AllocationRequest& wanted,
                                BlockPool& records, std::uint32_t hint) noexcept;

  /// Completes the record of a placed block, fills the block and marks it live. Returns the
  /// program's pointer.
  static void* adopt(const CheckSettings& settings, CheckedBlock& block,
                     const AllocationRequest& wanted, const BlockCall& call) noexcept;

  /// Makes a freed block inaccessible and queues its pages for reuse.
  void retire(const CheckedBlock& block) noexcept;

  /// Returns the block, live or freed, that begins at `address`, or `kNone`. Precondition:
  /// `contains`.
  [[nodiscard]] Number at(const void* address, BlockPool& records) noexcept;

  /// Returns the block that contains `address`, or the nearer neighbour; `kNone` if there is
  /// neither. Precondition: `contains`.
  [[nodiscard]] Number nearest(const void* address, BlockPool& records) noexcept;

  /// Makes the page of `address` accessible until its pages are reused.
  [[nodiscard]] bool open_page(const void* address) noexcept { return pool_.open_page(address); }

 private:
  static constexpr Number kNone = BlockPool::kNone;
  /// The alignment of malloc for all sizes.
  static constexpr std::size_t kGranule = 16;
  /// Bytes of slack beside a block that serve as a red zone and are verified on free.
  static constexpr std::size_t kFront = 32;
  static constexpr std::size_t kLargest = std::size_t{1} << 40;
  static constexpr std::size_t kMegabyte = std::size_t{1} << 20;

  static GuardedPool::Limits limits(const CheckSettings& settings) noexcept;

  /// Returns false for requests that the allocator must refuse itself.
  static bool is_placeable(const AllocationRequest& wanted) noexcept;

  BlockPlan try_place(const CheckSettings& settings, const AllocationRequest& wanted,
                      BlockPool& records, std::uint32_t hint) noexcept;

  static bool is_left(PageEdge edge) noexcept {
    if (edge == PageEdge::kRandom) return (GuardSampler::random() & 1) != 0;
    return edge == PageEdge::kLeft;
  }

  /// Asks for the system's limits only until the pool exists.
  GuardedPool::Limits limits_of(const CheckSettings& settings) noexcept {
    return pool_.is_made() ? GuardedPool::Limits{} : limits(settings);
  }

  /// Sets the block's address. At the right edge it ends at the page boundary, or as near as its
  /// alignment permits.
  static void lay_out(CheckedBlock& block, std::size_t size, std::size_t alignment,
                      std::byte* pages, bool at_left) noexcept;

  /// Makes pages accessible that the program protected. Returns false if the system refuses or the
  /// program replaced them; such pages are not reused.
  static bool take_back(const CheckedBlock& block) noexcept;

  static std::byte* first_page(const CheckedBlock& block) noexcept {
    const std::size_t page = os::page_size();
    return block.begin() - reinterpret_cast<std::uintptr_t>(block.begin()) % page;
  }

  /// Returns the bytes in pages that are accessible while the block lives; 0 for an empty block.
  static std::size_t open_bytes(const CheckedBlock& block) noexcept {
    const std::size_t page = os::page_size();
    return (block.size + page - 1) / page * page;
  }

  bool close_all(std::byte* begin, std::size_t pages) noexcept {
    return pool_.close(begin, (pages + GuardedPool::kGuards) * os::page_size());
  }

  /// Returns the bytes between `address` and the block; 0 inside it.
  static std::uint64_t distance(const void* address, const CheckedBlock& block) noexcept;

  GuardedPool pool_;
  GuardBudget budget_;
  std::atomic<std::uint64_t> placed_{0};
  std::atomic<std::uint64_t> fell_back_{0};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/guarded_blocks.hpp"
#endif
