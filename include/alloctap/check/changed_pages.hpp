/// Blocks whose pages the program protected, replaced or discarded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/check/block_layout.hpp"
#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/checked_blocks.hpp"
#include "alloctap/check/guarded_blocks.hpp"
#include "alloctap/event/block_checks.hpp"

namespace alloctap {

/// Says of a block whether checks may read and write it, and notes what the program does to pages.
/// A block that no such call met costs nothing; of others the system is asked when they go. Refers
/// to all that it is given. Thread-safe; runs inside malloc.
class ChangedPages {
 public:
  ChangedPages(const CheckSettings& settings, CheckedBlocks& blocks, GuardedBlocks& guards) noexcept
      : settings_(settings), blocks_(blocks), guards_(guards) {}

  /// Whether nothing keeps the block from being read and written.
  [[nodiscard]] static bool is_plain(const CheckedBlock& block) noexcept {
    return block.pages.load(std::memory_order_relaxed) == PageChange::kNone;
  }

  /// Whether it may be read and written at this moment.
  [[nodiscard]] static bool may_access(const CheckSettings& settings,
                                       const CheckedBlock& block) noexcept;

  /// Returns whether a block that is being freed may be read and written. If so, it is plain from
  /// then on, because the program no longer changes its pages.
  [[nodiscard]] static bool settle(const CheckSettings& settings, CheckedBlock& block) noexcept;

  /// The program changed the pages of `[address, address + bytes)`, and with them blocks that lie
  /// in the first one. A block that begins in a later page is not looked for: no program knows what
  /// follows its own block.
  void note(const void* address, std::size_t bytes, PageChange change) noexcept;

  /// Whether the program changed pages of the block beside an inaccessible page that `address` is
  /// nearest to: then an access that is refused is its own affair.
  [[nodiscard]] bool has_changed(const void* address) noexcept {
    const BlockPool::Number number = guards_.nearest(address, blocks_.pool());
    return number != BlockPool::kNone && !is_plain(blocks_[number]);
  }

 private:
  void note_block(CheckedBlock& block, std::uintptr_t begin, std::uintptr_t end,
                  PageChange change) const noexcept;

  const CheckSettings& settings_;
  CheckedBlocks& blocks_;
  GuardedBlocks& guards_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/changed_pages.hpp"
#endif
