/// Tracks blocks whose pages the program protected, replaced or discarded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/check/block_layout.hpp"
#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/checked_blocks.hpp"
#include "alloctap/check/guarded_blocks.hpp"
#include "alloctap/event/block_checks.hpp"

namespace alloctap {

/// Records the program's page changes (mprotect, madvise, mmap) in blocks, and decides whether
/// checks may access a block. A block whose pages never changed costs nothing. When any other block
/// is freed, queries the system for the protection of the block's pages. Stores references to all
/// constructor arguments. Thread-safe; runs inside malloc.
class ChangedPages {
 public:
  ChangedPages(const CheckSettings& settings, CheckedBlocks& blocks, GuardedBlocks& guards) noexcept
      : settings_(settings), blocks_(blocks), guards_(guards) {}

  /// Returns whether the program left the block's pages unchanged.
  [[nodiscard]] static bool is_plain(const CheckedBlock& block) noexcept {
    return block.pages.load(std::memory_order_relaxed) == PageChange::kNone;
  }

  /// Returns whether the block's pages are accessible now, so that checks may read and write them.
  [[nodiscard]] static bool may_access(const CheckSettings& settings,
                                       const CheckedBlock& block) noexcept;

  /// Returns whether checks may access a block that is being freed. If true, clears the page change
  /// recorded for the block, because a freed block gets no further page changes.
  [[nodiscard]] static bool settle(const CheckSettings& settings, CheckedBlock& block) noexcept;

  /// Records a page change of `[address, address + bytes)` in the blocks that overlap the first
  /// page. Ignores blocks that begin in later pages, because a program does not know which blocks
  /// follow the one that it changes.
  void note(const void* address, std::size_t bytes, PageChange change) noexcept;

  /// Returns whether the program changed pages of the guard-page block nearest to `address`. If so,
  /// a fault at `address` is no invalid access but the program's intent.
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
