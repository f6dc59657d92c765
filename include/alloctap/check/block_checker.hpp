/// Looks after each block from the call that brings it to the one that takes it back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "alloctap/check/block_faults.hpp"
#include "alloctap/check/block_layout.hpp"
#include "alloctap/check/check_policy.hpp"
#include "alloctap/check/checked_blocks.hpp"
#include "alloctap/check/found_misuses.hpp"
#include "alloctap/check/freed_blocks.hpp"
#include "alloctap/event/block_checks.hpp"
#include "alloctap/guard/futex_lock.hpp"

namespace alloctap {

/// The functions of `CheckingSink`, for a caller who knows in which call they run (`BlockCall`) and
/// acts upon what was found. Thread-safe; runs inside malloc, in a recording section but for
/// `sweep`, which needs the gate closed. Constant-initialized, never destroyed.
template <CheckPolicy Policy>
class BlockChecker {
 public:
  constexpr BlockChecker() noexcept = default;

  [[nodiscard]] const MisuseLog& log() const noexcept { return faults_.log(); }

  [[nodiscard]] BlockPlan plan(const WantedBlock& wanted, std::uint32_t hint) noexcept {
    BlockPlan plan = BlockLayout::plan(settings(), wanted);
    if (!settings().blocks) return plan;
    plan.number = blocks_.pool().take(hint);
    return plan.number == BlockPool::kNone ? BlockLayout::plain(wanted) : plan;
  }

  void drop(const BlockPlan& plan, std::uint32_t hint) noexcept {
    if (plan.number != BlockPool::kNone) blocks_.pool().give_back(plan.number, hint);
  }

  /// What the program gets for `raw`. Where it cannot be looked after that is `raw` itself.
  [[nodiscard]] void* adopt(const BlockPlan& plan, void* raw, const WantedBlock& wanted,
                            const BlockCall& call) noexcept {
    if (plan.number == BlockPool::kNone) {
      if (!wanted.has_content) BlockLayout::fill_new(settings(), raw, wanted.size);
      return raw;
    }
    CheckedBlock& block = blocks_[plan.number];
    describe(block, plan, static_cast<std::byte*>(raw), wanted, call);
    Number replaced = BlockPool::kNone;
    if (!CheckedBlocks::covers(block.begin()) || !blocks_.insert(plan.number, replaced)) {
      drop(plan, hint_of(call));
      return raw;
    }
    if (replaced != BlockPool::kNone) blocks_.pool().give_back(replaced, hint_of(call));
    BlockLayout::write_guards(settings(), block);
    if (!wanted.has_content) BlockLayout::fill_new(settings(), block.begin(), block.size);
    return block.begin();
  }

  [[nodiscard]] ReleasePlan release(const DeallocationEvent& gone, const BlockCall& call,
                                    FoundMisuses& found) noexcept {
    const Number number = blocks_.at(gone.pointer);
    const bool is_known = number != BlockPool::kNone && !is_unused(number);
    if (!is_known) return release_unknown(gone, call, found);
    CheckedBlock& block = blocks_[number];
    const BlockStory story = block.story();
    if (!blocks_.end_life(number)) {
      found.add(faults_.add(MisuseKind::kDoubleFree, gone, call, story));
      return {.action = ReleasePlan::Action::kRefuse};
    }
    faults_.check_guards(settings(), block, gone, call, found);
    if (settings().kinds) faults_.check_kind(gone, call, story, found);
    block.freed_by = gone.kind;
    block.gone = call;
    ReleasePlan plan = plan_of(block);
    plan.number = number;
    return plan;
  }

  /// What becomes of a block that `release` ended: false where it is kept from the allocator.
  [[nodiscard]] bool retire(const ReleasePlan& plan, std::uint32_t hint) noexcept {
    CheckedBlock& block = blocks_[plan.number];
    const std::size_t bytes = BlockLayout::bytes_of(block);
    const bool keeps = settings().quarantine_blocks > 0 && bytes <= settings().quarantine_bytes;
    BlockLayout::fill_freed(settings(), block);
    if (keeps) BlockLayout::write_guards(settings(), block);
    const std::lock_guard hold(lock_);
    if (keeps && quarantine_.push(plan.number, settings().quarantine_blocks + kSpare)) {
      quarantined_bytes_ += bytes;
      note_fullness();
      return false;
    }
    remember(plan.number, hint);
    return true;
  }

  /// Whether `evict` has anything to do.
  [[nodiscard]] bool is_overfull() const noexcept {
    return overfull_.load(std::memory_order_relaxed);
  }

  /// One more block for the allocator, of those that were kept; false where none is due.
  [[nodiscard]] bool evict(ReleasePlan& plan, const BlockCall& call, FoundMisuses& found) noexcept {
    const std::lock_guard hold(lock_);
    if (!is_overfull()) return false;
    const Number number = quarantine_.pop();
    CheckedBlock& block = blocks_[number];
    quarantined_bytes_ -= BlockLayout::bytes_of(block);
    note_fullness();
    faults_.check_freed(settings(), block, call, found);
    plan = plan_of(block);
    remember(number, hint_of(call));
    return true;
  }

  /// Looks at a block that is to be reallocated, and leaves it as it is.
  [[nodiscard]] BlockExtent before_reallocate(const DeallocationEvent& gone, const BlockCall& call,
                                              FoundMisuses& found) noexcept {
    const BlockExtent live = extent(gone.pointer);
    if (live.verdict == BlockExtent::Verdict::kKnown) return live;
    const ReleasePlan plan = release(gone, call, found);
    return {.verdict = plan.action == ReleasePlan::Action::kRefuse
                           ? BlockExtent::Verdict::kRefused
                           : BlockExtent::Verdict::kUnknown};
  }

  [[nodiscard]] BlockExtent extent(const void* pointer) noexcept {
    const Number number = blocks_.at(pointer);
    if (number == BlockPool::kNone || blocks_[number].state.load() != State::kLive) return {};
    return {.verdict = BlockExtent::Verdict::kKnown,
            .size = blocks_[number].size + settings().expand};
  }

  /// `pointer` is a block that is not looked after.
  void note_unchecked(const void* pointer) noexcept {
    if (settings().blocks) blocks_.note_unchecked(pointer);
  }

  /// For a block that the tracker itself frees: without a look at it, and without a lock. It is not
  /// remembered.
  [[nodiscard]] ReleasePlan release_unchecked(const void* pointer) noexcept {
    const Number number = blocks_.at(pointer);
    if (number == BlockPool::kNone || !blocks_.end_life(number)) {
      static_cast<void>(settings().blocks && blocks_.take_unchecked(pointer));
      return {};
    }
    blocks_.hide(number);
    return plan_of(blocks_[number]);
  }

  /// Looks at every live block and every one that is kept. What was changed is made whole, so that
  /// it is found once.
  void sweep(const BlockCall& call, FoundMisuses& found) noexcept {
    const std::lock_guard hold(lock_);
    blocks_.pool().for_each([&](Number, CheckedBlock& block) {
      if (block.state.load(std::memory_order_acquire) != State::kLive) return;
      DeallocationEvent none;
      none.pointer = block.begin();
      if (faults_.check_guards(settings(), block, none, call, found)) {
        BlockLayout::write_guards(settings(), block);
      }
    });
    quarantine_.for_each([&](Number number) {
      const CheckedBlock& block = blocks_[number];
      if (!faults_.check_freed(settings(), block, call, found)) return;
      BlockLayout::write_guards(settings(), block);
      BlockLayout::fill_freed(settings(), block);
    });
  }

  /// In the middle of a report, for what belongs to an address; `known` is false where nothing
  /// does.
  [[nodiscard]] BlockStory story_around(const void* pointer) noexcept {
    const Number number = blocks_.around(pointer);
    return number == BlockPool::kNone ? BlockStory{} : blocks_[number].story();
  }

 private:
  using Number = BlockPool::Number;
  using State = CheckedBlock::State;

  static decltype(auto) settings() noexcept { return Policy::settings(); }

  static std::uint32_t hint_of(const BlockCall& call) noexcept {
    return static_cast<std::uint32_t>(call.thread);
  }

  bool is_unused(Number number) noexcept {
    return blocks_[number].state.load(std::memory_order_acquire) == State::kUnused;
  }

  static void describe(CheckedBlock& block, const BlockPlan& plan, std::byte* raw,
                       const WantedBlock& wanted, const BlockCall& call) noexcept {
    block.kind = wanted.kind;
    block.set_alignment(wanted.alignment);
    block.front = static_cast<std::uint32_t>(plan.front);
    block.front_guard = block.front;
    block.rear_guard = static_cast<std::uint32_t>(settings().rear_guard);
    block.set_begin(raw + plan.front);
    block.size = wanted.size;
    block.allocated = call;
    block.gone = {};
  }

  static ReleasePlan plan_of(const CheckedBlock& block) noexcept {
    return {.action = ReleasePlan::Action::kRelease,
            .block = block.raw(),
            .kind = block.kind,
            .alignment = block.alignment()};
  }

  ReleasePlan release_unknown(const DeallocationEvent& gone, const BlockCall& call,
                              FoundMisuses& found) noexcept {
    if (!settings().blocks || blocks_.take_unchecked(gone.pointer)) return {};
    const BlockStory story = story_around(gone.pointer);
    const bool is_inside = story.known && !story.freed;
    if (!is_inside && !settings().unknown_pointers) return {};
    const MisuseKind kind = is_inside ? MisuseKind::kInteriorPointer : MisuseKind::kUnknownPointer;
    found.add(faults_.add(kind, gone, call, story));
    return {.action = ReleasePlan::Action::kRefuse};
  }

  void note_fullness() noexcept {
    overfull_.store(quarantine_.size() > settings().quarantine_blocks ||
                        quarantined_bytes_ > settings().quarantine_bytes,
                    std::memory_order_relaxed);
  }

  /// `number` is with the allocator again. The caller holds the lock.
  void remember(Number number, std::uint32_t hint) noexcept {
    if (remembered_.full()) blocks_.forget(remembered_.pop(), hint);
    if (!remembered_.push(number, settings().remembered_frees)) blocks_.forget(number, hint);
  }

  /// Threads may all have pushed before the first of them evicts.
  static constexpr std::uint32_t kSpare = 1024;

  CheckedBlocks blocks_;
  BlockFaults faults_;
  FutexLock lock_;
  FreedBlocks quarantine_;
  FreedBlocks remembered_;
  std::size_t quarantined_bytes_ = 0;
  std::atomic<bool> overfull_{false};
};

}  // namespace alloctap
