/// The contracts of sinks that check blocks (red zones, quarantine, guard pages) and accesses.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/os/heap_handle.hpp"

namespace alloctap {

/// A block that the program requests.
struct AllocationRequest {
  /// The requested size in bytes.
  std::size_t size = 0;
  /// In bytes; 0 if the call states no alignment.
  std::size_t alignment = 0;
  AllocationKind kind = AllocationKind::kMalloc;
  /// Whether the called function initializes the block (calloc, strdup).
  bool has_content = false;
  [[no_unique_address]] os::HeapHandle heap{};
};

/// How the hook must allocate a block: what to request, and the offset of the program's block.
struct BlockPlan {
  /// The size to request from the allocator, in bytes.
  std::size_t bytes = 0;
  /// The size of the left red zone, before the program's block; a multiple of the alignment.
  std::size_t front = 0;
  /// The sink's number for the block; 0 if the block is not checked because memory ran out.
  std::uint32_t number = 0;
  /// The block's memory, zeroed, if the sink provides it instead of the allocator; nullptr if the
  /// hook must call the allocator.
  void* place = nullptr;
};

/// How the hook must free a block.
struct ReleasePlan {
  enum class Action : std::uint8_t {
    /// The sink does not know the block: pass the program's pointer to the allocator unchanged.
    kPassOn,
    /// Pass `block` to the allocator function that matches `kind`.
    kRelease,
    /// No live block begins at the pointer: do not call the allocator.
    kRefuse,
    /// The block came from the sink's own pool, which took the block back: do not call the
    /// allocator.
    kReturnedToPool,
  };
  Action action = Action::kPassOn;
  /// The allocator's address of the block.
  void* block = nullptr;
  AllocationKind kind = AllocationKind::kMalloc;
  /// In bytes; 0 if the allocation stated no alignment.
  std::size_t alignment = 0;
  /// The sink's number for the block.
  std::uint32_t number = 0;
  /// The heap from which the block was allocated, even if the freeing call names another heap.
  [[no_unique_address]] os::HeapHandle heap{};
};

/// What the sink knows of a block that the program reallocates, or whose size the program queries.
struct BlockLookup {
  enum class Verdict : std::uint8_t { kUnknown, kKnown, kRefused };
  Verdict verdict = Verdict::kUnknown;
  /// The usable size in bytes, if known.
  std::size_t size = 0;
  /// The allocator's address of the block; nullptr if unknown, or if the sink's own pool has the
  /// block.
  void* block = nullptr;
};

/// A change that the program makes to pages in which blocks may lie.
enum class PageChange : std::uint8_t {
  kNone,
  /// The protection of the pages changed.
  kProtected,
  /// The pages were unmapped, or another mapping replaced them.
  kReplaced,
  /// The contents of the pages were discarded (for example, by madvise).
  kDiscarded,
};

/// A sink that decides how blocks are allocated and freed. All functions run inside malloc, on any
/// thread, from the first hooked call on, even without a session.
///
/// Fast paths: `should_skip_checks` returns true if the next block needs no checks and no call of
/// `plan_block`. It counts down to the next guard page, so call it once per block. `is_checked`
/// returns whether the sink may have to act if the block is freed or reallocated.
///
/// Allocation: `plan_block` runs first. Unless the plan has a `place`, the allocator is called.
/// After success `adopt_block` returns the program's pointer; after a failure `drop_plan` runs.
///
/// Free: `release_block` runs before the allocator. Unless the result is `kPassOn` or `kRefuse`,
/// `retire_block` follows the report of the free. `retire_block` returns false if the block stays
/// in quarantine. Then call `next_evicted` until it returns false; each call returns one block to
/// free.
///
/// `before_reallocate` checks a block without changing it. `before_measure` checks a block whose
/// size the program queries; `function` must live as long as the process.
///
/// `register_unchecked_block`, `release_unchecked` and `forget_unchecked` are for nested calls,
/// which the hook passes to the allocator. Nested calls never allocate checked blocks, but may free
/// them. `forget_unchecked` returns true if the block was registered or needs no registration.
///
/// `is_unknown_block` returns whether a free would be refused because the sink does not know the
/// block. A hook that starts late calls `is_unknown_block`, and registers the block if the
/// allocator knows the block. `on_page_change` follows a call that changed pages. Before a heap is
/// destroyed, call `end_next` until it returns nullptr. Each call marks one block of `gone.heap` as
/// freed, advances `cursor` (0 at first), and returns the program's pointer to the block.
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

/// A read or write of a byte range.
struct MemoryAccess {
  /// The name of the called function, which lives as long as the process. Empty if an instruction
  /// of the program accessed the memory.
  std::string_view function;
  /// The address of the first byte.
  std::uintptr_t address = 0;
  /// The number of bytes; 0 if unknown.
  std::uint64_t bytes = 0;
  bool writes = false;
};

/// A sink that checks the program's reads and writes. All functions may run inside malloc, on any
/// thread. `room_at` returns the number of bytes from a pointer to the end of its block, or
/// `SIZE_MAX` if the block is unknown.
template <class S>
concept AccessSink = requires(const MemoryAccess& access, const CallOrigin& origin,
                              const void* pointer, std::uintptr_t source) {
  { S::checks_strings() } noexcept -> std::same_as<bool>;
  { S::room_at(pointer) } noexcept -> std::same_as<std::size_t>;
  { S::check_access(access, origin) } noexcept -> std::same_as<void>;
  { S::note_overlap(access, source, origin) } noexcept -> std::same_as<void>;
};

}  // namespace alloctap
