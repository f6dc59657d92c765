/// Definitions for check/block_sweep.hpp.
#pragma once

#include "alloctap/check/block_sweep.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/virtual_memory.hpp"

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

ALLOCTAP_INLINE bool ChangedPages::may_access(const CheckSettings& settings,
                                              const CheckedBlock& block) noexcept {
  const PageChange change = block.pages.load(std::memory_order_relaxed);
  return change == PageChange::kNone ||
         (change == PageChange::kProtected && BlockLayout::may_write(settings, block));
}

ALLOCTAP_INLINE bool ChangedPages::settle(const CheckSettings& settings,
                                          CheckedBlock& block) noexcept {
  if (is_plain(block)) return true;
  const bool may = may_access(settings, block);
  if (may) block.pages.store(PageChange::kNone, std::memory_order_relaxed);
  return may;
}

ALLOCTAP_INLINE void ChangedPages::note(const void* address, std::size_t bytes,
                                        PageChange change) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::size_t page = os::page_size();
  const std::uintptr_t end = (begin + bytes + page - 1) / page * page;
  const auto note = [&](CheckedBlock& block) { note_block(block, begin, end, change); };
  if (settings_.guard_pages == 0 || !guards_.contains(address)) {
    return blocks_.for_each_live_at(begin / page * page, page, note);
  }
  const BlockPool::Number number = guards_.nearest(address, blocks_.pool());
  if (number != BlockPool::kNone) note(blocks_[number]);
}

ALLOCTAP_INLINE void ChangedPages::note_block(CheckedBlock& block, std::uintptr_t begin,
                                              std::uintptr_t end,
                                              PageChange change) const noexcept {
  const PageChange before = block.pages.load(std::memory_order_relaxed);
  if (change != PageChange::kDiscarded) {
    if (before == PageChange::kReplaced) return;
    block.pages.store(change, std::memory_order_relaxed);
  } else if (before == PageChange::kNone) {
    BlockLayout::rewrite_guards(settings_, block, begin, end);
  }
}

}  // namespace alloctap
