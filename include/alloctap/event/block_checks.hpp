/// The contract between a hook backend and a sink that checks blocks (red zones, quarantine, guard
/// pages).
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

/// A block that the program requests.
struct AllocationRequest {
  /// The requested size in bytes.
  std::size_t size = 0;
  /// Bytes; 0 if the call states no alignment.
  std::size_t alignment = 0;
  AllocationKind kind = AllocationKind::kMalloc;
  /// Whether the function initializes the block (calloc, strdup).
  bool has_content = false;
  [[no_unique_address]] os::HeapHandle heap{};
};

/// How to allocate a block.
struct BlockPlan {
  /// The size to request from the allocator, in bytes.
  std::size_t bytes = 0;
  /// The part of `bytes` before the program's block (left red zone); a multiple of the alignment.
  std::size_t front = 0;
  /// The sink's number for the block; 0 if there was no memory to check it.
  std::uint32_t number = 0;
  /// Zeroed memory of the sink that replaces a call of the allocator; nullptr if the allocator is
  /// called.
  void* place = nullptr;
};

/// How to free a block.
struct ReleasePlan {
  enum class Action : std::uint8_t {
    /// Unknown to the sink: pass the pointer to the allocator unchanged.
    kPassOn,
    /// Pass `block` to the allocator function that matches `kind`.
    kRelease,
    /// Not a live block; must not reach the allocator.
    kRefuse,
    /// The block was in the sink's own pool, which has it again.
    kReturnedToPool,
  };
  Action action = Action::kPassOn;
  /// The allocator's address of the block.
  void* block = nullptr;
  AllocationKind kind = AllocationKind::kMalloc;
  /// Bytes; 0 if the allocation stated no alignment.
  std::size_t alignment = 0;
  /// The sink's number for the block.
  std::uint32_t number = 0;
  /// The heap that the block came from, even if the freeing call names another.
  [[no_unique_address]] os::HeapHandle heap{};
};

/// What is known of a block that the program reallocates or queries the size of.
struct BlockLookup {
  enum class Verdict : std::uint8_t { kUnknown, kKnown, kRefused };
  Verdict verdict = Verdict::kUnknown;
  /// The usable size in bytes, if known.
  std::size_t size = 0;
  /// The allocator's address of the block, if known; nullptr if it is in the sink's own pool.
  void* block = nullptr;
};

/// A change by the program to pages in which a block may lie.
enum class PageChange : std::uint8_t {
  kNone,
  /// Their access rights changed.
  kProtected,
  /// They were unmapped or mapped over.
  kReplaced,
  /// Their contents were discarded (as by madvise).
  kDiscarded,
};

/// A sink that decides how blocks are allocated and freed. All functions run inside malloc, on any
/// thread, with or without a session, from the first hooked call on.
///
/// Fast paths: if `should_skip_checks` returns true, the next block is ordinary and no function
/// below is called for it. It counts down to the next guard page, so call it once per block.
/// `is_checked` is whether the sink may have to act when a block is freed or moved.
///
/// Allocation: `plan_block` runs before the allocator, and replaces it if the plan has a `place`.
/// Then `adopt_block` returns the program's pointer, or `drop_plan` runs if the allocator failed.
///
/// Free: `release_block` runs before the allocator. If it says so, `retire_block` follows, after
/// the free was reported; it returns false if the block stays in quarantine. Then `next_evicted` is
/// called until it returns false; each call names one more block to free.
///
/// `before_reallocate` checks a block and leaves it unchanged. So does `before_measure`, for
/// functions that query a block's size; their names live as long as the process.
///
/// `register_unchecked_block`, `release_unchecked` and `forget_unchecked` are for calls of the
/// allocator or the tracker that a hook passes through. New blocks are not checked; freed ones may
/// be. `forget_unchecked` returns true if the block was registered or need not be.
///
/// `is_unknown_block` returns whether a free would be refused because the block is unknown. A hook
/// that starts after the first allocations calls it, and registers the block if the allocator knows
/// it. `on_page_change` follows a call that changed pages of a range. `end_next` serves heap
/// destruction: each call ends one block of `gone.heap`, from `cursor` (0 at first). It returns the
/// program's pointer, or nullptr when no block is left.
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
