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

/// Decides whether checks may access a block, and records calls such as mprotect on pages of
/// blocks. Blocks without such a call cost nothing; for others the system is asked when they are
/// freed. Refers to all constructor arguments. Thread-safe; runs inside malloc.
class ChangedPages {
 public:
  ChangedPages(const CheckSettings& settings, CheckedBlocks& blocks, GuardedBlocks& guards) noexcept
      : settings_(settings), blocks_(blocks), guards_(guards) {}

  /// Returns whether the program left the block's pages unchanged.
  [[nodiscard]] static bool is_plain(const CheckedBlock& block) noexcept {
    return block.pages.load(std::memory_order_relaxed) == PageChange::kNone;
  }

  /// Returns whether checks may read and write the block now.
  [[nodiscard]] static bool may_access(const CheckSettings& settings,
                                       const CheckedBlock& block) noexcept;

  /// Returns whether checks may access a block that is being freed. If so, marks its pages as
  /// unchanged, because the program no longer changes them.
  [[nodiscard]] static bool settle(const CheckSettings& settings, CheckedBlock& block) noexcept;

  /// Records a change of the pages of `[address, address + bytes)` in the blocks that lie in the
  /// first page. Ignores blocks that begin in later pages: no program knows which blocks follow its
  /// own.
  void note(const void* address, std::size_t bytes, PageChange change) noexcept;

  /// Returns whether the program changed pages of the guard-page block nearest to `address`. A
  /// fault there is then the program's own.
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
