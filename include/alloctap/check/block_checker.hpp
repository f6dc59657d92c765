/// Checks each block from its allocation to its release.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>

#include "alloctap/check/block_faults.hpp"
#include "alloctap/check/block_layout.hpp"
#include "alloctap/check/block_sweep.hpp"
#include "alloctap/check/check_policy.hpp"
#include "alloctap/check/checked_blocks.hpp"
#include "alloctap/check/guarded_blocks.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/check/quarantine_list.hpp"
#include "alloctap/event/block_checks.hpp"
#include "alloctap/os/memory_faults.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

/// Implements the functions of `CheckingSink` for a tracker. Callers pass the stack, thread and
/// time of the call (`BlockCall`). Callers report the faults that the functions add to `found`.
/// Thread-safe; runs inside malloc, within a `RecordingScope`. Only `sweep` needs a stopped world.
/// Constant-initialized, never destroyed.
template <CheckPolicy Policy>
class BlockChecker {
 public:
  using Number = BlockPool::Number;

  constexpr BlockChecker() noexcept = default;

  [[nodiscard]] const MisuseLog& log() const noexcept { return faults_.log(); }

  [[nodiscard]] GuardedBlocks& guarded() noexcept { return guards_; }

  /// Returns whether a check may apply to `pointer`. If false, callers skip all functions below.
  [[nodiscard]] bool is_checked(const void* pointer) const noexcept {
    return settings().blocks || guards_.contains(pointer);
  }

  /// Returns whether `address` lies in the guard-page pool.
  [[nodiscard]] bool guards(const void* address) const noexcept {
    return settings().guard_pages != 0 && guards_.contains(address);
  }

  /// Plans a block beside a guard page. `place` is null if the pool or the budget is exhausted.
  [[nodiscard]] BlockPlan place(const AllocationRequest& wanted, std::uint32_t hint) noexcept {
    return guards_.place(settings(), wanted, blocks_.pool(), hint);
  }

  [[nodiscard]] BlockPlan plan(const AllocationRequest& wanted, std::uint32_t hint) noexcept {
    BlockPlan plan = BlockLayout::plan(settings(), wanted);
    if (!settings().blocks || !BlockLayout::is_possible(wanted)) return plan;
    plan.number = blocks_.pool().take(hint);
    return plan.number == BlockPool::kNone ? BlockLayout::plain(wanted) : plan;
  }

  void drop(const BlockPlan& plan, std::uint32_t hint) noexcept {
    if (plan.number != BlockPool::kNone) blocks_.pool().give_back(plan.number, hint);
  }

  /// Completes a planned block that the allocator returned at `raw`. Returns the program's pointer,
  /// which is `raw` if the block cannot be tracked.
  [[nodiscard]] void* adopt(const BlockPlan& plan, void* raw, const AllocationRequest& wanted,
                            const BlockCall& call) noexcept {
    if (plan.place != nullptr) {
      return GuardedBlocks::adopt(settings(), blocks_[plan.number], wanted, call);
    }
    if (plan.number == BlockPool::kNone) {
      const bool is_filled = !wanted.has_content && BlockLayout::is_possible(wanted);
      if (is_filled) BlockLayout::fill_new(settings(), raw, wanted.size);
      register_unchecked_block(raw);
      return raw;
    }
    CheckedBlock& block = blocks_[plan.number];
    BlockLayout::describe(settings(), block, plan, static_cast<std::byte*>(raw), wanted, call);
    Number replaced = BlockPool::kNone;
    if (!CheckedBlocks::covers(block.begin()) || !blocks_.insert(plan.number, replaced)) {
      drop(plan, hint_of(call));
      register_unchecked_block(raw);
      return raw;
    }
    if (replaced != BlockPool::kNone) blocks_.pool().give_back(replaced, hint_of(call));
    BlockLayout::write_guards(settings(), block);
    if (!wanted.has_content) BlockLayout::fill_new(settings(), block.begin(), block.size);
    return block.begin();
  }

  [[nodiscard]] ReleasePlan release(const DeallocationEvent& gone, const BlockCall& call,
                                    FoundMisuses& found) noexcept {
    const Number number = find(gone.pointer);
    const bool is_known = number != BlockPool::kNone && !blocks_[number].is_unused();
    if (!is_known) return release_unknown(gone, call, found);
    CheckedBlock& block = blocks_[number];
    const BlockHistory story = block.story();
    if (!blocks_.end_life(number, gone.pointer)) {
      found.add(faults_.add(MisuseKind::kDoubleFree, gone, call, story));
      return {.action = ReleasePlan::Action::kRefuse};
    }
    if (ChangedPages::settle(settings(), block)) {
      faults_.check_guards(settings(), block, gone, call, found);
    }
    if (settings().kinds) faults_.check_kind(gone, call, story, found);
    block.freed_by = gone.kind;
    block.gone = call;
    ReleasePlan plan = BlockLayout::release_plan(block);
    plan.number = number;
    return plan;
  }

  /// Quarantines a block that `release` marked as freed, or returns the block to the guard-page
  /// pool. Returns true if neither applies, so that the caller must free the block.
  [[nodiscard]] bool retire(const ReleasePlan& plan, std::uint32_t hint) noexcept {
    CheckedBlock& block = blocks_[plan.number];
    if (block.guarded) {
      guards_.retire(block);
      return false;
    }
    const bool is_plain = ChangedPages::is_plain(block);
    const bool keeps = is_plain && QuarantineList::takes(settings(), block);
    if (keeps) BlockLayout::prepare_kept(settings(), block);
    if (is_plain && !keeps) BlockLayout::fill_freed(settings(), block);
    const std::lock_guard hold(lock_);
    if (keeps && kept_.push(settings(), blocks_, plan.number)) return false;
    kept_.remember(settings(), blocks_, plan.number, hint);
    return true;
  }

  /// Returns whether the quarantine exceeds its limits, so that the caller must call `evict`.
  [[nodiscard]] bool is_overfull() const noexcept { return kept_.is_overfull(); }

  /// Removes the oldest block from the quarantine and sets `plan` to free that block. Returns false
  /// if the quarantine is within its limits.
  [[nodiscard]] bool evict(ReleasePlan& plan, const BlockCall& call, FoundMisuses& found) noexcept {
    const std::lock_guard hold(lock_);
    if (!is_overfull()) return false;
    const Number number = kept_.pop(settings(), blocks_);
    CheckedBlock& block = blocks_[number];
    faults_.check_freed(settings(), block, call, found);
    plan = BlockLayout::release_plan(block);
    kept_.remember(settings(), blocks_, number, hint_of(call));
    return true;
  }

  /// Checks a block before its reallocation. Changes neither a live block nor its record, but
  /// unregisters an unchecked block.
  [[nodiscard]] BlockLookup before_reallocate(const DeallocationEvent& gone, const BlockCall& call,
                                              FoundMisuses& found) noexcept {
    const BlockLookup live = extent(gone.pointer);
    if (live.verdict == BlockLookup::Verdict::kKnown) return live;
    const ReleasePlan plan = release(gone, call, found);
    return {.verdict = plan.action == ReleasePlan::Action::kRefuse
                           ? BlockLookup::Verdict::kRefused
                           : BlockLookup::Verdict::kUnknown};
  }

  /// Checks a pointer that the program passes to the query `function`, such as malloc_usable_size.
  [[nodiscard]] BlockLookup before_measure(const void* pointer, std::string_view function,
                                           const BlockCall& call, FoundMisuses& found) noexcept {
    const BlockLookup live = extent(pointer);
    if (live.verdict == BlockLookup::Verdict::kKnown) return live;
    if (!guards(pointer) && blocks_.may_be_unchecked(pointer)) return {};
    const BlockHistory story = story_around(pointer);
    const std::optional<MisuseKind> fault = find_pointer_fault(pointer, story);
    if (!fault) return {};
    found.add(faults_.add_question(*fault, pointer, function, call, story));
    return {.verdict = BlockLookup::Verdict::kRefused};
  }

  [[nodiscard]] BlockLookup extent(const void* pointer) noexcept {
    if (!is_checked(pointer)) return {};
    const Number number = find(pointer);
    if (number == BlockPool::kNone || blocks_[number].state.load() != State::kLive) return {};
    return {.verdict = BlockLookup::Verdict::kKnown,
            .size = BlockLayout::usable_bytes(settings(), blocks_[number]),
            .block = blocks_[number].guarded ? nullptr : blocks_[number].raw()};
  }

  /// Returns a checker for memory accesses. The checker must not outlive this object.
  [[nodiscard]] AccessCheck accesses() noexcept { return {blocks_, faults_, settings().expand}; }

  /// Registers `pointer` as a valid unchecked block, whose free is not reported.
  void register_unchecked_block(const void* pointer) noexcept {
    if (settings().blocks) blocks_.register_unchecked_block(pointer);
  }

  /// Unregisters `pointer`. Returns false if blocks are checked but `pointer` was not registered.
  [[nodiscard]] bool forget_unchecked(const void* pointer) noexcept {
    return !settings().blocks || blocks_.take_unchecked(pointer);
  }

  /// Returns whether `release` would report `pointer` as an unknown address.
  [[nodiscard]] bool is_unknown_block(const void* pointer) noexcept {
    return settings().blocks && settings().unknown_pointers && !guards(pointer) &&
           blocks_.is_unknown_block(pointer);
  }

  void note_page_change(const void* address, std::size_t bytes, PageChange change) noexcept {
    ChangedPages(settings(), blocks_, guards_).note(address, bytes, change);
  }

  /// Calls `HeapEnd::end_next` while holding the quarantine's lock.
  [[nodiscard]] void* end_next(const DeallocationEvent& gone, Number& cursor, const BlockCall& call,
                               FoundMisuses& found) noexcept {
    const std::lock_guard hold(lock_);
    return HeapEnd(settings(), blocks_, guards_, kept_, faults_)
        .end_next(gone, cursor, call, found);
  }

  /// Returns how to free a block that the tracker itself frees. Checks and records nothing.
  [[nodiscard]] ReleasePlan release_unchecked(const void* pointer) noexcept {
    if (!is_checked(pointer)) return {};
    if (guards(pointer)) return release_placed(pointer);
    const Number number = blocks_.at(pointer);
    if (number == BlockPool::kNone || !blocks_.end_life(number, pointer)) {
      static_cast<void>(settings().blocks && blocks_.take_unchecked(pointer));
      return {};
    }
    const ReleasePlan plan = BlockLayout::release_plan(blocks_[number]);
    blocks_.forget(number, 0);
    return plan;
  }

  void sweep(const BlockCall& call, FoundMisuses& found) noexcept {
    const std::lock_guard hold(lock_);
    BlockSweep(settings(), faults_, call, found).check_blocks(blocks_, kept_);
  }

  /// Returns the history of the block that contains `pointer` or, in the guard-page pool, is
  /// nearest to `pointer`. `known` of the result is false if no block was found.
  [[nodiscard]] BlockHistory story_around(const void* pointer) noexcept {
    if (!guards(pointer)) return blocks_.story_around(pointer);
    const Number number = guards_.nearest(pointer, blocks_.pool());
    return number == BlockPool::kNone ? BlockHistory{} : blocks_[number].story();
  }

  /// Logs an access that hit a guard page. Logs nothing and returns false if no block is near, or
  /// if the program itself changed the pages (mprotect). May run in a signal handler. Precondition:
  /// `guards(fault.address)`.
  [[nodiscard]] bool note_fault(const os::MemoryFault& fault, const BlockCall& call,
                                FoundMisuses& found) noexcept {
    const auto* const address = reinterpret_cast<const void*>(fault.address);
    if (ChangedPages(settings(), blocks_, guards_).has_changed(address)) return false;
    const BlockHistory story = story_around(address);
    if (story.known) found.add(faults_.add_refused(fault, call, story));
    return story.known;
  }

 private:
  using State = CheckedBlock::State;

  static decltype(auto) settings() noexcept { return Policy::settings(); }

  static std::uint32_t hint_of(const BlockCall& call) noexcept {
    return static_cast<std::uint32_t>(call.thread);
  }

  [[nodiscard]] Number find(const void* pointer) noexcept {
    return guards(pointer) ? guards_.at(pointer, blocks_.pool()) : blocks_.at(pointer);
  }

  ReleasePlan release_placed(const void* pointer) noexcept {
    const Number number = guards_.at(pointer, blocks_.pool());
    const bool is_live = number != BlockPool::kNone && blocks_.end_life(number, pointer);
    if (is_live) guards_.retire(blocks_[number]);
    return {.action = ReleasePlan::Action::kReturnedToPool};
  }

  ReleasePlan release_unknown(const DeallocationEvent& gone, const BlockCall& call,
                              FoundMisuses& found) noexcept {
    const bool is_ours = guards(gone.pointer);
    if (!is_ours && (!settings().blocks || blocks_.take_unchecked(gone.pointer))) return {};
    const BlockHistory story = story_around(gone.pointer);
    const std::optional<MisuseKind> fault = find_pointer_fault(gone.pointer, story);
    if (!fault) return {};
    found.add(faults_.add(*fault, gone, call, story));
    return {.action = ReleasePlan::Action::kRefuse};
  }

  /// Returns the fault of a pointer at which no live block begins. `story` is the history of the
  /// block that contains the pointer.
  [[nodiscard]] std::optional<MisuseKind> find_pointer_fault(
      const void* pointer, const BlockHistory& story) const noexcept {
    if (story.known && !story.freed) return MisuseKind::kInteriorPointer;
    const bool is_gone = story.known && story.address == reinterpret_cast<std::uintptr_t>(pointer);
    const bool is_fault = is_gone || guards(pointer) || settings().unknown_pointers;
    return is_fault ? std::optional(MisuseKind::kUnknownPointer) : std::nullopt;
  }

  CheckedBlocks blocks_;
  GuardedBlocks guards_;
  BlockFaults faults_;
  FutexLock lock_;
  QuarantineList kept_;
};

}  // namespace alloctap
