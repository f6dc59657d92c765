/// Operations on many blocks: sweeps, ends of heaps, and changes of pages.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/check/block_faults.hpp"
#include "alloctap/check/block_layout.hpp"
#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/checked_blocks.hpp"
#include "alloctap/check/guarded_blocks.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/check/quarantine_list.hpp"
#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/block_checks.hpp"
#include "alloctap/os/heap_handle.hpp"

namespace alloctap {

/// Checks the red zones of all live blocks and the fill pattern of all quarantined blocks. Repairs
/// overwritten bytes, so that the next sweep does not report them again. The caller holds the
/// quarantine's lock. Stores references to all constructor arguments. Runs inside malloc.
class BlockSweep {
 public:
  BlockSweep(const CheckSettings& settings, BlockFaults& faults, const BlockCall& call,
             FoundMisuses& found) noexcept
      : settings_(settings), faults_(faults), call_(call), found_(found) {}

  void check_blocks(CheckedBlocks& blocks, const QuarantineList& kept) noexcept {
    look_at_live(blocks);
    look_at_kept(blocks, kept);
  }

 private:
  void look_at_live(CheckedBlocks& blocks) noexcept;

  void look_at_kept(CheckedBlocks& blocks, const QuarantineList& kept) noexcept;

  const CheckSettings& settings_;
  BlockFaults& faults_;
  const BlockCall& call_;
  FoundMisuses& found_;
};

/// Marks all blocks of a heap as freed when the program destroys the heap (HeapDestroy). The caller
/// holds the quarantine's lock. Stores its arguments by reference. Runs inside malloc.
class HeapEnd {
 public:
  using Number = BlockPool::Number;

  HeapEnd(const CheckSettings& settings, CheckedBlocks& blocks, GuardedBlocks& guards,
          QuarantineList& kept, BlockFaults& faults) noexcept
      : settings_(settings), blocks_(blocks), guards_(guards), kept_(kept), faults_(faults) {}

  /// Marks the next block of `gone.heap` as freed. Returns the block's address, or nullptr if
  /// none is left. The first call, with `cursor` 0, also removes the heap's blocks from quarantine.
  [[nodiscard]] void* end_next(const DeallocationEvent& gone, Number& cursor, const BlockCall& call,
                               FoundMisuses& found) noexcept {
    if (cursor == BlockPool::kNone) end_quarantine(gone.heap, call, found);
    for (cursor = std::max(cursor, BlockPool::kFirst); cursor < blocks_.pool().end(); ++cursor) {
      CheckedBlock& block = blocks_[cursor];
      if (block.state.load(std::memory_order_acquire) != CheckedBlock::State::kLive) continue;
      if (block.heap != gone.heap || !blocks_.end_life(cursor, block.begin())) continue;
      DeallocationEvent ended = gone;
      ended.pointer = block.begin();
      faults_.check_guards(settings_, block, ended, call, found);
      block.freed_by = gone.kind;
      block.gone = call;
      if (block.guarded) {
        guards_.retire(block);
      } else {
        kept_.remember(settings_, blocks_, cursor, hint_of(call));
      }
      return ended.pointer;
    }
    return nullptr;
  }

 private:
  static std::uint32_t hint_of(const BlockCall& call) noexcept {
    return static_cast<std::uint32_t>(call.thread);
  }

  /// Removes the blocks of `heap` from quarantine, because the system has freed their memory.
  void end_quarantine(os::HeapHandle heap, const BlockCall& call, FoundMisuses& found) noexcept {
    kept_.remove_if(settings_, blocks_, [&](Number number) {
      const CheckedBlock& block = blocks_[number];
      if (block.heap != heap) return false;
      faults_.check_freed(settings_, block, call, found);
      kept_.remember(settings_, blocks_, number, hint_of(call));
      return true;
    });
  }

  const CheckSettings& settings_;
  CheckedBlocks& blocks_;
  GuardedBlocks& guards_;
  QuarantineList& kept_;
  BlockFaults& faults_;
};

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
  /// page. Ignores blocks that begin in later pages, because a program cannot know which blocks
  /// follow the block whose pages it changes.
  void note(const void* address, std::size_t bytes, PageChange change) noexcept;

  /// Returns whether the program changed pages of the guard-page block nearest to `address`. If so,
  /// a fault at `address` is intended by the program, not an invalid access.
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
#include "alloctap/check/impl/block_sweep.hpp"
#endif
