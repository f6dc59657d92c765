/// What is wrong with a block, or with a call that gives one back.
#pragma once

#include <cstdint>

#include "alloctap/check/block_layout.hpp"
#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/checked_block.hpp"
#include "alloctap/check/found_misuses.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/check/release_match.hpp"
#include "alloctap/event/allocation_event.hpp"

namespace alloctap {

/// Finds faults and keeps them. Each function names the call in which it looks; one without a stack
/// is a sweep over all blocks. Thread-safe; runs inside malloc. Constant-initialized, never
/// destroyed.
class BlockFaults {
 public:
  [[nodiscard]] const MisuseLog& log() const noexcept { return log_; }

  /// Keeps a fault of `gone`; as `MisuseLog::add`.
  const Misuse* add(MisuseKind kind, const DeallocationEvent& gone, const BlockCall& call,
                    const BlockStory& story) noexcept {
    return log_.add(make(kind, gone, call, story));
  }

  /// Whether `gone` gives a live block back as it came.
  void check_kind(const DeallocationEvent& gone, const BlockCall& call, const BlockStory& story,
                  FoundMisuses& found) noexcept {
    const ReleaseFault fault = find_release_fault(gone, story.kind, story.size, story.alignment);
    if (fault == ReleaseFault::kNone) return;
    const MisuseKind kind = fault == ReleaseFault::kKind   ? MisuseKind::kKindMismatch
                            : fault == ReleaseFault::kSize ? MisuseKind::kWrongSize
                                                           : MisuseKind::kWrongAlignment;
    found.add(add(kind, gone, call, story));
  }

  /// Whether a guard was changed of a block that is live, or was until now.
  bool check_guards(const CheckSettings& settings, const CheckedBlock& block,
                    const DeallocationEvent& gone, const BlockCall& call,
                    FoundMisuses& found) noexcept {
    BlockStory story = block.story();
    story.freed = false;
    const Misuse before = make(MisuseKind::kWriteBefore, gone, call, story);
    const Misuse behind = make(MisuseKind::kWriteBehind, gone, call, story);
    const bool is_before = add_changes(before, BlockLayout::front_changes(block), found);
    const bool is_behind = add_changes(behind, BlockLayout::rear_changes(settings, block), found);
    return is_before || is_behind;
  }

  /// Whether anything was changed in a block that was freed and is still kept.
  bool check_freed(const CheckSettings& settings, const CheckedBlock& block, const BlockCall& call,
                   FoundMisuses& found) noexcept {
    DeallocationEvent none;
    none.pointer = block.begin();
    const Misuse fault = make(MisuseKind::kWriteAfterFree, none, call, block.story());
    const bool before = add_changes(fault, BlockLayout::front_changes(block), found);
    const bool inside = add_changes(fault, BlockLayout::freed_changes(settings, block), found);
    const bool behind = add_changes(fault, BlockLayout::rear_changes(settings, block), found);
    return before || inside || behind;
  }

 private:
  static Misuse make(MisuseKind kind, const DeallocationEvent& gone, const BlockCall& call,
                     const BlockStory& story) noexcept {
    Misuse misuse;
    misuse.kind = kind;
    misuse.found = call;
    misuse.call = gone.kind;
    misuse.by_sweep = call.stack == kNoStackId;
    misuse.address = reinterpret_cast<std::uintptr_t>(gone.pointer);
    misuse.stated_size = gone.stated_size;
    misuse.stated_alignment = gone.stated_alignment;
    misuse.block = story;
    return misuse;
  }

  bool add_changes(Misuse misuse, const ChangedBytes& changed, FoundMisuses& found) noexcept {
    if (changed.count == 0) return false;
    misuse.changed = changed;
    found.add(log_.add(misuse));
    return true;
  }

  MisuseLog log_;
};

}  // namespace alloctap
