/// Blocks beside pages that nobody can access.
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

/// Where blocks of a `GuardedPool` lie in their pages, and which one an address belongs to. Their
/// records are those of a `BlockPool`. Thread-safe; runs inside malloc; what looks for a block may
/// run in a signal handler. Constant-initialized, never destroyed.
class GuardedBlocks {
 public:
  using Number = BlockPool::Number;

  constexpr GuardedBlocks() noexcept = default;

  [[nodiscard]] bool contains(const void* address) const noexcept {
    return pool_.contains(address);
  }

  [[nodiscard]] GuardPageStats account(const CheckSettings& settings) const noexcept;

  /// A plan for a block beside an inaccessible page; without a place where there is no room or
  /// time. Its record says where the block lies and what guards it.
  [[nodiscard]] BlockPlan place(const CheckSettings& settings, const AllocationRequest& wanted,
                                BlockPool& records, std::uint32_t hint) noexcept;

  /// The life of a block that was placed begins, in that call; what the program gets.
  static void* adopt(const CheckSettings& settings, CheckedBlock& block,
                     const AllocationRequest& wanted, const BlockCall& call) noexcept;

  /// The block, whose life has ended, is inaccessible from now on.
  void retire(const CheckedBlock& block) noexcept;

  /// The block that begins at `address`, live or freed; `kNone` where none does. Precondition:
  /// `contains`.
  [[nodiscard]] Number at(const void* address, BlockPool& records) noexcept;

  /// The block that is nearest to `address`: the one that it lies in, or one of those on either
  /// side. `kNone` where none is near. Precondition: `contains`.
  [[nodiscard]] Number nearest(const void* address, BlockPool& records) noexcept;

  /// Lets the page of `address` be accessed as long as its block is remembered.
  [[nodiscard]] bool open_page(const void* address) noexcept { return pool_.open_page(address); }

 private:
  static constexpr Number kNone = BlockPool::kNone;
  /// What malloc aligns to, whatever the size.
  static constexpr std::size_t kGranule = 16;
  /// Bytes in front of a block at the right edge that are looked at when it is freed.
  static constexpr std::size_t kFront = 32;
  static constexpr std::size_t kLargest = std::size_t{1} << 40;
  static constexpr std::size_t kMegabyte = std::size_t{1} << 20;

  static GuardedPool::Limits limits(const CheckSettings& settings) noexcept;

  /// What an allocator refuses must be refused by it.
  static bool is_placeable(const AllocationRequest& wanted) noexcept;

  BlockPlan try_place(const CheckSettings& settings, const AllocationRequest& wanted,
                      BlockPool& records, std::uint32_t hint) noexcept;

  static bool is_left(PageEdge edge) noexcept {
    if (edge == PageEdge::kRandom) return (GuardSampler::random() & 1) != 0;
    return edge == PageEdge::kLeft;
  }

  /// The system is asked once.
  GuardedPool::Limits limits_of(const CheckSettings& settings) noexcept {
    return pool_.is_made() ? GuardedPool::Limits{} : limits(settings);
  }

  /// At the right edge the block ends where its pages do, or as near as its alignment lets it.
  static void lay_out(CheckedBlock& block, std::size_t size, std::size_t alignment,
                      std::byte* pages, bool at_left) noexcept;

  /// Makes pages accessible that the program protected. Returns false if the system refuses, or
  /// the pages were replaced: they are not handed out again.
  static bool take_back(const CheckedBlock& block) noexcept;

  static std::byte* first_page(const CheckedBlock& block) noexcept {
    const std::size_t page = os::page_size();
    return block.begin() - reinterpret_cast<std::uintptr_t>(block.begin()) % page;
  }

  /// What of the block's pages is open while it lives: none where it has no bytes.
  static std::size_t open_bytes(const CheckedBlock& block) noexcept {
    const std::size_t page = os::page_size();
    return (block.size + page - 1) / page * page;
  }

  bool close_all(std::byte* begin, std::size_t pages) noexcept {
    return pool_.close(begin, (pages + GuardedPool::kGuards) * os::page_size());
  }

  /// Bytes between the address and the block; 0 inside.
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
