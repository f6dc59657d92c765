/// Definitions for check/block_faults.hpp.
#pragma once

#include "alloctap/check/block_faults.hpp"
#include "alloctap/check/block_layout.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE const Misuse* BlockFaults::add_refused(const os::MemoryFault& fault,
                                                       const BlockCall& call,
                                                       const BlockHistory& story) noexcept {
  MemoryAccess access;
  access.address = fault.address;
  access.writes = writes(fault);
  return add_access(kind_of(fault, story), access, call, story);
}

ALLOCTAP_INLINE const Misuse* BlockFaults::add_question(MisuseKind kind, const void* pointer,
                                                        std::string_view function,
                                                        const BlockCall& call,
                                                        const BlockHistory& story) noexcept {
  MemoryAccess access;
  access.function = function;
  access.address = reinterpret_cast<std::uintptr_t>(pointer);
  return add_access(kind, access, call, story);
}

ALLOCTAP_INLINE const Misuse* BlockFaults::add_access(MisuseKind kind, const MemoryAccess& access,
                                                      const BlockCall& call,
                                                      const BlockHistory& story,
                                                      std::uintptr_t source) noexcept {
  Misuse misuse;
  misuse.kind = kind;
  misuse.found = call;
  misuse.address = access.address;
  misuse.block = story;
  misuse.access = access;
  misuse.source = source;
  return log_.add(misuse);
}

ALLOCTAP_INLINE void BlockFaults::check_kind(const DeallocationEvent& gone, const BlockCall& call,
                                             const BlockHistory& story,
                                             FoundMisuses& found) noexcept {
  if (os::are_different(gone.heap, story.heap)) {
    return found.add(add(MisuseKind::kWrongHeap, gone, call, story));
  }
  const ReleaseFault fault = find_release_fault(gone, story.kind, story.size, story.alignment);
  if (fault == ReleaseFault::kNone) return;
  const MisuseKind kind = fault == ReleaseFault::kKind   ? MisuseKind::kKindMismatch
                          : fault == ReleaseFault::kSize ? MisuseKind::kWrongSize
                                                         : MisuseKind::kWrongAlignment;
  found.add(add(kind, gone, call, story));
}

ALLOCTAP_INLINE bool BlockFaults::check_guards(const CheckSettings& settings,
                                               const CheckedBlock& block,
                                               const DeallocationEvent& gone, const BlockCall& call,
                                               FoundMisuses& found) noexcept {
  const ChangedBytes before = BlockLayout::front_changes(block);
  const ChangedBytes behind = BlockLayout::rear_changes(settings, block);
  if (before.count == 0 && behind.count == 0) return false;
  BlockHistory story = block.story();
  story.freed = false;
  add_changes(MisuseKind::kWriteBefore, before, gone, call, story, found);
  add_changes(MisuseKind::kWriteBehind, behind, gone, call, story, found);
  return true;
}

ALLOCTAP_INLINE bool BlockFaults::check_freed(const CheckSettings& settings,
                                              const CheckedBlock& block, const BlockCall& call,
                                              FoundMisuses& found) noexcept {
  const ChangedBytes before = BlockLayout::front_changes(block);
  const ChangedBytes inside = BlockLayout::freed_changes(block);
  const ChangedBytes behind = BlockLayout::rear_changes(settings, block);
  if (before.count == 0 && inside.count == 0 && behind.count == 0) return false;
  DeallocationEvent none;
  none.pointer = block.begin();
  const BlockHistory story = block.story();
  add_changes(MisuseKind::kWriteAfterFree, before, none, call, story, found);
  add_changes(MisuseKind::kWriteAfterFree, inside, none, call, story, found);
  add_changes(MisuseKind::kWriteAfterFree, behind, none, call, story, found);
  return true;
}

ALLOCTAP_INLINE MisuseKind BlockFaults::kind_of(const os::MemoryFault& fault,
                                                const BlockHistory& story) noexcept {
  const bool is_write = writes(fault);
  if (story.freed) return is_write ? MisuseKind::kWriteAfterFree : MisuseKind::kReadAfterFree;
  if (fault.address < story.address) {
    return is_write ? MisuseKind::kWriteBefore : MisuseKind::kReadBefore;
  }
  return is_write ? MisuseKind::kWriteBehind : MisuseKind::kReadBehind;
}

ALLOCTAP_INLINE Misuse BlockFaults::make(MisuseKind kind, const DeallocationEvent& gone,
                                         const BlockCall& call,
                                         const BlockHistory& story) noexcept {
  Misuse misuse;
  misuse.kind = kind;
  misuse.found = call;
  misuse.call = gone.kind;
  misuse.by_sweep = call.stack == kNoStackId;
  misuse.address = reinterpret_cast<std::uintptr_t>(gone.pointer);
  misuse.stated_size = gone.stated_size;
  misuse.stated_alignment = gone.stated_alignment;
  misuse.heap = gone.heap;
  misuse.block = story;
  return misuse;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void BlockFaults::add_changes(
    MisuseKind kind, const ChangedBytes& changed, const DeallocationEvent& gone,
    const BlockCall& call, const BlockHistory& story, FoundMisuses& found) noexcept {
  if (changed.count == 0) return;
  Misuse misuse = make(kind, gone, call, story);
  misuse.changed = changed;
  found.add(log_.add(misuse));
}

}  // namespace alloctap
