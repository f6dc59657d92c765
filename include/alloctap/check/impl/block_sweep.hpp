/// The bodies of check/block_sweep.hpp.
#pragma once

#include <atomic>

#include "alloctap/check/block_layout.hpp"
#include "alloctap/check/block_sweep.hpp"
#include "alloctap/check/changed_pages.hpp"
#include "alloctap/check/checked_blocks.hpp"
#include "alloctap/check/quarantine_list.hpp"
#include "alloctap/event/allocation_event.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE void BlockSweep::look_at_live(CheckedBlocks& blocks) noexcept {
  blocks.pool().for_each([&](BlockPool::Number, CheckedBlock& block) {
    const auto state = block.state.load(std::memory_order_acquire);
    if (state != CheckedBlock::State::kLive) return;
    if (!ChangedPages::may_access(settings_, block)) return;
    const DeallocationEvent none{.pointer = block.begin(), .origin = {}};
    if (!faults_.check_guards(settings_, block, none, call_, found_)) return;
    BlockLayout::write_guards(settings_, block);
  });
}

ALLOCTAP_INLINE void BlockSweep::look_at_kept(CheckedBlocks& blocks,
                                              const QuarantineList& kept) noexcept {
  kept.for_each([&](BlockPool::Number number) {
    const CheckedBlock& block = blocks[number];
    if (!faults_.check_freed(settings_, block, call_, found_)) return;
    BlockLayout::write_guards(settings_, block);
    BlockLayout::refill_kept(block);
  });
}

}  // namespace alloctap
