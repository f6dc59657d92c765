/// What a hook backend asks a sink that checks blocks, beyond telling it of them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/allocation_kind.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/os/heap_handle.hpp"

namespace alloctap {

/// A block that the program wants.
struct AllocationRequest {
  /// Bytes that the program asked for.
  std::size_t size = 0;
  /// Bytes; 0 where the call named none.
  std::size_t alignment = 0;
  AllocationKind kind = AllocationKind::kMalloc;
  /// Whether the call says what the program finds in the block (calloc, strdup).
  bool has_content = false;
  [[no_unique_address]] os::HeapHandle heap{};
};

/// How a block is to be had of the allocator.
struct BlockPlan {
  /// Bytes to ask for.
  std::size_t bytes = 0;
  /// Bytes of these that stand in front of what the program gets; a multiple of its alignment.
  std::size_t front = 0;
  /// The sink's own name for it; 0 where it has no memory to check this one.
  std::uint32_t number = 0;
  /// Zeroed memory of the sink's own, which takes the place of the allocator's: that is not asked.
  /// nullptr where it is.
  void* place = nullptr;
};

/// What is to be done with a block that the program gives back.
struct ReleasePlan {
  enum class Action : std::uint8_t {
    /// The sink knows nothing of it: to the allocator, as it is.
    kPassOn,
    /// `block` goes to the allocator, by the function that fits `kind`.
    kRelease,
    /// It is none. The allocator must not see it.
    kRefuse,
    /// It was the sink's own memory, and the sink has it back.
    kReturnedToPool,
  };
  Action action = Action::kPassOn;
  /// As the allocator knows it.
  void* block = nullptr;
  AllocationKind kind = AllocationKind::kMalloc;
  /// Bytes; 0 where the allocation named none.
  std::size_t alignment = 0;
  /// The sink's own name for it.
  std::uint32_t number = 0;
  /// Where it came from, whatever the call that gives it back says.
  [[no_unique_address]] os::HeapHandle heap{};
};

/// What is known of a block that is to be reallocated or looked at.
struct BlockLookup {
  enum class Verdict : std::uint8_t { kUnknown, kKnown, kRefused };
  Verdict verdict = Verdict::kUnknown;
  /// Bytes that the program may use, where it is known.
  std::size_t size = 0;
  /// As the allocator knows it, where it is known; nullptr: it is the sink's own memory.
  void* block = nullptr;
};

/// What the program did to pages that a block may lie in.
enum class PageChange : std::uint8_t {
  kNone,
  /// They may be accessed in other ways than before.
  kProtected,
  /// They are gone, or others.
  kReplaced,
  /// What was in them is lost.
  kDiscarded,
};

/// A sink that decides how blocks are had and given back. Every function runs inside malloc, on any
/// thread, whether there is a session or not; blocks come and go through it from the first call on.
///
/// A hook may ask first, so that what is nobody's business costs next to nothing:
/// `should_skip_checks`, whether the block that is about to come is an ordinary one, for which
/// nothing below is called (asking counts the block where it is one, so once for each);
/// `is_checked`, whether there may be something to say about one that is to go or to be moved.
///
/// `plan_block` precedes the call of the allocator, and stands for it where the plan has a place;
/// `adopt_block` follows it and gives what the program gets, or `drop_plan` where the allocator had
/// nothing. `release_block` comes before the allocator takes a block back. Where it says so,
/// `retire_block` follows, after the block's end was told: where that is false, the block stays for
/// a while. Then `next_evicted`, until it is false: each names one more to give back.
/// `before_reallocate` looks at a block and leaves it as it is; so does `before_measure`, where the
/// program asks how large a block is, by a function whose name lives as long as the process.
///
/// `register_unchecked_block`, `release_unchecked` and `forget_unchecked` are for calls that a hook
/// passes through, of the allocator itself or of the tracker: a block that comes is not checked,
/// one that goes may be. The last one says whether it was noted, or nothing needs to be.
///
/// `is_unknown_block` says whether a block would be refused because nothing at all is known of it.
/// A hook that comes after the first allocations asks, and notes it where the allocator knows it.
/// `on_page_change` follows a call by which the program changed the pages of a range.
/// `end_next` is for a heap that goes with all that is in it: each call ends one block of
/// `gone.heap`, from `cursor` on, which begins with 0, and gives what the program knew it by, or
/// nullptr where none is left.
template <class S>
concept CheckingSink =
    EventSink<S> &&
    requires(const AllocationRequest& wanted, const BlockPlan& plan, void* block,
             const CallOrigin& origin, const DeallocationEvent& gone, ReleasePlan& release,
             std::uint32_t& cursor, std::string_view function, PageChange change) {
      { S::should_skip_checks() } noexcept -> std::same_as<bool>;
      { S::is_checked(block) } noexcept -> std::same_as<bool>;
      { S::plan_block(wanted) } noexcept -> std::same_as<BlockPlan>;
      { S::adopt_block(plan, block, wanted, origin) } noexcept -> std::same_as<void*>;
      { S::drop_plan(plan) } noexcept -> std::same_as<void>;
      { S::release_block(gone) } noexcept -> std::same_as<ReleasePlan>;
      { S::retire_block(release) } noexcept -> std::same_as<bool>;
      { S::next_evicted(release, origin) } noexcept -> std::same_as<bool>;
      { S::before_reallocate(gone) } noexcept -> std::same_as<BlockLookup>;
      { S::usable_size(block) } noexcept -> std::same_as<BlockLookup>;
      { S::before_measure(block, function, origin) } noexcept -> std::same_as<BlockLookup>;
      { S::register_unchecked_block(block) } noexcept -> std::same_as<void>;
      { S::release_unchecked(block) } noexcept -> std::same_as<ReleasePlan>;
      { S::forget_unchecked(block) } noexcept -> std::same_as<bool>;
      { S::is_unknown_block(block) } noexcept -> std::same_as<bool>;
      { S::on_page_change(block, wanted.size, change) } noexcept -> std::same_as<void>;
      { S::end_next(gone, cursor) } noexcept -> std::same_as<void*>;
    };

}  // namespace alloctap
