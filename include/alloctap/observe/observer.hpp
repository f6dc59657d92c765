/// The contract of observers: callbacks to the program for each allocation and free.
#pragma once

#include <concepts>
#include <cstddef>

#include "alloctap/event/allocator_call.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/event/stack_owner.hpp"

namespace alloctap {

/// A block whose allocation or free is reported to an observer.
struct ObservedBlock {
  void* pointer = nullptr;
  /// The requested size in bytes.
  std::size_t size = 0;
  /// The stack's id, as in snapshots of the tracker that calls the observer.
  StackId stack = kNoStackId;
  /// The owner of the stack; empty if `Config::Tags` has no owners or `kWantsOwners` is false.
  StackOwner owner{};
};

/// A range of whole pages that is mapped or unmapped. An unmapped range may cover a part of a
/// mapping, several mappings or no mapping.
struct ObservedMapping {
  void* address = nullptr;
  std::size_t length = 0;
};

/// A type with static callbacks. `on_track` follows an allocation and `on_untrack` precedes a free,
/// so the caller owns the block in both. Both run inside malloc, on the calling thread.
///
/// Observers get exactly the blocks that the tracker records: no block allocated before the session
/// or in a pause. A reallocation calls `on_untrack`, then `on_track`; if it fails, both get the old
/// block. If `on_track` gets a pointer that is still tracked, the free of the earlier block was not
/// observed.
///
/// An observer may allocate; its allocations are not recorded. It must not throw, start a tracker,
/// dump, or wait for a lock that another thread may hold while it allocates.
///
/// Optional members:
/// - `on_map` and `on_unmap(const ObservedMapping&)`: mappings. If an unmapping fails, `on_map`
///   follows.
/// - `on_start()` and `on_stop()`: a session begins or ends. Run outside malloc.
/// - `offer(alloctap_slots&)`: adds functions for annotate.h when a session starts.
/// - `kWantsOwners`: if true, `ObservedBlock::owner` is set.
/// - `add_to(Snapshot&)`: adds data to a snapshot while the world is stopped; returns false if out
///   of memory.
/// - `begin_timing(AllocatorCall, std::size_t bytes)` and `end_timing(const TimedCall&,
///   StackOwner)`: as in `TimingSink`; `StackOwner` is the thread's current owner. Of several
///   observers, at most one may have these two functions.
/// - `on_reallocate(const ObservedBlock& before, const ObservedBlock& after)`: a reallocation
///   succeeded. This thread's last `on_untrack` had `before`, its last `on_track` has `after`.
///   Another thread may already own the address of `before`.
template <class O>
concept Observer = requires(const ObservedBlock& block) {
  { O::on_track(block) } noexcept -> std::same_as<void>;
  { O::on_untrack(block) } noexcept -> std::same_as<void>;
};

/// Observes nothing; compiles to no code.
struct NoObservers {
  static void on_track(const ObservedBlock&) noexcept {}
  static void on_untrack(const ObservedBlock&) noexcept {}
};

/// Whether `O` is an observer, so that trackers contain code for callbacks.
template <class O>
inline constexpr bool kObserves = !std::same_as<O, NoObservers>;

/// Whether the observer `O` has `on_reallocate`.
template <class O>
inline constexpr bool kObservesReallocations =
    requires(const ObservedBlock& block) { O::on_reallocate(block, block); };

/// Whether the observer `O` wants the owners of blocks.
template <class O>
inline constexpr bool kWantsOwners = requires { requires O::kWantsOwners; };

/// An observer that times calls of the allocator.
template <class O>
concept TimingObserver =
    requires(AllocatorCall call, std::size_t bytes, const TimedCall& timed, StackOwner owner) {
      { O::begin_timing(call, bytes) } noexcept -> std::same_as<const TimedCall*>;
      { O::end_timing(timed, owner) } noexcept -> std::same_as<void>;
    };

static_assert(Observer<NoObservers>);

}  // namespace alloctap
