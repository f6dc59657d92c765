/// A look at all blocks at once.
#pragma once

#include <atomic>

#include "alloctap/check/block_faults.hpp"
#include "alloctap/check/block_layout.hpp"
#include "alloctap/check/changed_pages.hpp"
#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/checked_blocks.hpp"
#include "alloctap/check/found_misuses.hpp"
#include "alloctap/check/kept_blocks.hpp"
#include "alloctap/event/allocation_event.hpp"

namespace alloctap {

/// Looks at guards and at what is kept, for a caller who holds the lock of that. What was changed
/// is made whole, so that it is found once. Refers to all that it is given. Runs inside malloc.
class BlockSweep {
 public:
  BlockSweep(const CheckSettings& settings, BlockFaults& faults, const BlockCall& call,
             FoundMisuses& found) noexcept
      : settings_(settings), faults_(faults), call_(call), found_(found) {}

  void look_at(CheckedBlocks& blocks, const KeptBlocks& kept) noexcept {
    look_at_live(blocks);
    look_at_kept(blocks, kept);
  }

 private:
  void look_at_live(CheckedBlocks& blocks) noexcept {
    blocks.pool().for_each([&](BlockPool::Number, CheckedBlock& block) {
      const auto state = block.state.load(std::memory_order_acquire);
      if (state != CheckedBlock::State::kLive) return;
      if (!ChangedPages::may_access(settings_, block)) return;
      const DeallocationEvent none{.pointer = block.begin(), .origin = {}};
      if (!faults_.check_guards(settings_, block, none, call_, found_)) return;
      BlockLayout::write_guards(settings_, block);
    });
  }

  void look_at_kept(CheckedBlocks& blocks, const KeptBlocks& kept) noexcept {
    kept.for_each([&](BlockPool::Number number) {
      const CheckedBlock& block = blocks[number];
      if (!faults_.check_freed(settings_, block, call_, found_)) return;
      BlockLayout::write_guards(settings_, block);
      BlockLayout::refill_kept(block);
    });
  }

  const CheckSettings& settings_;
  BlockFaults& faults_;
  const BlockCall& call_;
  FoundMisuses& found_;
};

}  // namespace alloctap
