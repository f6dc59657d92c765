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

/// Places blocks in the pages of a `GuardedPool` and maps addresses to blocks. The records of the
/// blocks are in a `BlockPool`. Thread-safe; runs inside malloc. `contains`, `at` and `nearest` may
/// run in a signal handler. Constant-initialized, never destroyed.
class GuardedBlocks {
 public:
  using Number = BlockPool::Number;

  constexpr GuardedBlocks() noexcept = default;

  [[nodiscard]] bool contains(const void* address) const noexcept {
    return pool_.contains(address);
  }

  [[nodiscard]] GuardPageStats account(const CheckSettings& settings) const noexcept;

  /// Plans a block beside a guard page and stores its address and red zones in its record. The
  /// result has a null `place` if the pool or the budget is exhausted.
  [[nodiscard]] BlockPlan place(const CheckSettings& settings, const AllocationRequest& wanted,
                                BlockPool& records, std::uint32_t hint) noexcept;

  /// Completes the record of a placed block, fills the block, and marks it live. Returns its
  /// address.
  static void* adopt(const CheckSettings& settings, CheckedBlock& block,
                     const AllocationRequest& wanted, const BlockCall& call) noexcept;

  /// Makes a freed block inaccessible and queues its pages for reuse.
  void retire(const CheckedBlock& block) noexcept;

  /// Returns the live or freed block beginning at `address`, or `kNone`. Requires
  /// `contains(address)`.
  [[nodiscard]] Number at(const void* address, BlockPool& records) noexcept;

  /// Returns the block that contains `address`, otherwise the nearer of the adjacent blocks.
  /// Returns `kNone` if no block is adjacent. Precondition: `contains(address)`.
  [[nodiscard]] Number nearest(const void* address, BlockPool& records) noexcept;

  /// Makes the page of `address` accessible until reuse. Returns false if the system refuses.
  [[nodiscard]] bool open_page(const void* address) noexcept { return pool_.open_page(address); }

 private:
  static constexpr Number kNone = BlockPool::kNone;
  /// The minimum alignment of all blocks, as in malloc.
  static constexpr std::size_t kGranule = 16;
  /// Maximum bytes beside a block that are used as a red zone, which the free verifies.
  static constexpr std::size_t kFront = 32;
  static constexpr std::size_t kLargest = std::size_t{1} << 40;
  static constexpr std::size_t kMegabyte = std::size_t{1} << 20;

  static GuardedPool::Limits limits(const CheckSettings& settings) noexcept;

  /// Returns false for a size or alignment that only the allocator may refuse.
  static bool is_placeable(const AllocationRequest& wanted) noexcept;

  BlockPlan try_place(const CheckSettings& settings, const AllocationRequest& wanted,
                      BlockPool& records, std::uint32_t hint) noexcept;

  static bool is_left(PageEdge edge) noexcept {
    if (edge == PageEdge::kRandom) return (GuardSampler::random() & 1) != 0;
    return edge == PageEdge::kLeft;
  }

  /// Returns the limits of the pool. Queries the system only before the pool is created.
  GuardedPool::Limits limits_of(const CheckSettings& settings) noexcept {
    return pool_.is_made() ? GuardedPool::Limits{} : limits(settings);
  }

  /// Sets the block's address and red zones. At `PageEdge::kRight`, the block ends at the page
  /// boundary, or as near as its alignment permits.
  static void lay_out(CheckedBlock& block, std::size_t size, std::size_t alignment,
                      std::byte* pages, bool at_left) noexcept;

  /// Makes a freed block's pages accessible again if the program protected them. Returns false if
  /// the system refuses or the program replaced the pages; the pages must then not be reused.
  static bool take_back(const CheckedBlock& block) noexcept;

  static std::byte* first_page(const CheckedBlock& block) noexcept {
    const std::size_t page = os::page_size();
    return block.begin() - reinterpret_cast<std::uintptr_t>(block.begin()) % page;
  }

  /// Returns the size of the pages that are accessible while the block lives; 0 if it is empty.
  static std::size_t open_bytes(const CheckedBlock& block) noexcept {
    const std::size_t page = os::page_size();
    return (block.size + page - 1) / page * page;
  }

  bool close_all(std::byte* begin, std::size_t pages) noexcept {
    return pool_.close(begin, (pages + GuardedPool::kGuards) * os::page_size());
  }

  /// Returns the bytes between `address` and the block, or 0 if the block contains `address`.
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
