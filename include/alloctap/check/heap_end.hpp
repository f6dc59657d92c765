/// Ends the blocks of a destroyed heap.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "alloctap/check/block_faults.hpp"
#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/checked_blocks.hpp"
#include "alloctap/check/found_misuses.hpp"
#include "alloctap/check/guarded_blocks.hpp"
#include "alloctap/check/quarantine_list.hpp"
#include "alloctap/event/allocation_event.hpp"
#include "alloctap/os/heap_handle.hpp"

namespace alloctap {

/// Marks all blocks of a heap as freed when the program destroys the heap (HeapDestroy). The caller
/// holds the quarantine's lock. Stores its arguments by reference. Runs inside malloc.
class HeapEnd {
 public:
  using Number = BlockPool::Number;

  HeapEnd(const CheckSettings& settings, CheckedBlocks& blocks, GuardedBlocks& guards,
          QuarantineList& kept, BlockFaults& faults) noexcept
      : settings_(settings), blocks_(blocks), guards_(guards), kept_(kept), faults_(faults) {}

  /// Marks the next block of `gone.heap` as freed. Returns its address; nullptr after the last
  /// block. The first call, with `cursor` 0, also removes the heap's blocks from quarantine.
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

}  // namespace alloctap
