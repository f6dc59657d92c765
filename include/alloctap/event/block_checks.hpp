/// What a hook backend asks a sink that checks blocks, beyond telling it of them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/allocation_kind.hpp"
#include "alloctap/event/event_sink.hpp"

namespace alloctap {

/// A block that the program wants.
struct WantedBlock {
  /// Bytes that the program asked for.
  std::size_t size = 0;
  /// Bytes; 0 where the call named none.
  std::size_t alignment = 0;
  AllocationKind kind = AllocationKind::kMalloc;
  /// Whether the call says what the program finds in the block (calloc, strdup).
  bool has_content = false;
};

/// How a block is to be had of the allocator.
struct BlockPlan {
  /// Bytes to ask for.
  std::size_t bytes = 0;
  /// Bytes of these that stand in front of what the program gets; a multiple of its alignment.
  std::size_t front = 0;
  /// The sink's own name for it; 0 where it has no memory to check this one.
  std::uint32_t number = 0;
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
  };
  Action action = Action::kPassOn;
  /// As the allocator knows it.
  void* block = nullptr;
  AllocationKind kind = AllocationKind::kMalloc;
  /// Bytes; 0 where the allocation named none.
  std::size_t alignment = 0;
  /// The sink's own name for it.
  std::uint32_t number = 0;
};

/// What is known of a block that is to be reallocated.
struct BlockExtent {
  enum class Verdict : std::uint8_t { kUnknown, kKnown, kRefused };
  Verdict verdict = Verdict::kUnknown;
  /// Bytes that the program may use, where it is known.
  std::size_t size = 0;
};

/// A sink that decides how blocks are had and given back. Every function runs inside malloc, on any
/// thread, whether there is a session or not; blocks come and go through it from the first call on.
///
/// `plan_block` precedes the call of the allocator; `adopt_block` follows it and gives what the
/// program gets, or `drop_plan` where the allocator had nothing. `release_block` comes before the
/// allocator takes a block back. Where it says so, `retire_block` follows, after the block's end
/// was told: where that is false, the block stays for a while. Then `next_evicted`, until it is
/// false: each names one more to give back. `before_reallocate` looks at a block and leaves it as
/// it is.
///
/// The last two are for calls that a hook passes through, of the allocator itself or of the
/// tracker: a block that comes is not checked, one that goes may be.
template <class S>
concept CheckingSink =
    EventSink<S> &&
    requires(const WantedBlock& wanted, const BlockPlan& plan, void* block,
             const CallOrigin& origin, const DeallocationEvent& gone, ReleasePlan& release) {
      { S::plan_block(wanted) } noexcept -> std::same_as<BlockPlan>;
      { S::adopt_block(plan, block, wanted, origin) } noexcept -> std::same_as<void*>;
      { S::drop_plan(plan) } noexcept -> std::same_as<void>;
      { S::release_block(gone) } noexcept -> std::same_as<ReleasePlan>;
      { S::retire_block(release) } noexcept -> std::same_as<bool>;
      { S::next_evicted(release, origin) } noexcept -> std::same_as<bool>;
      { S::before_reallocate(gone) } noexcept -> std::same_as<BlockExtent>;
      { S::usable_size(block) } noexcept -> std::same_as<BlockExtent>;
      { S::note_unchecked(block) } noexcept -> std::same_as<void>;
      { S::release_unchecked(block) } noexcept -> std::same_as<ReleasePlan>;
    };

}  // namespace alloctap
