/// Checks all blocks at once.
#pragma once

#include "alloctap/check/block_faults.hpp"
#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/checked_blocks.hpp"
#include "alloctap/check/found_misuses.hpp"
#include "alloctap/check/quarantine_list.hpp"

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

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/block_sweep.hpp"
#endif
