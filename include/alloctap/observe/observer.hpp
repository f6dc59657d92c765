/// The contract of observers: callbacks of the program for each allocation and free.
#pragma once

#include <concepts>
#include <cstddef>

#include "alloctap/event/allocator_call.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/event/stack_owner.hpp"

namespace alloctap {

/// A block as passed to observers.
struct ObservedBlock {
  void* pointer = nullptr;
  /// The requested size in bytes.
  std::size_t size = 0;
  /// The id in snapshots of that tracker.
  StackId stack = kNoStackId;
  /// The owner of the stack; empty if `Config::Tags` has none, or the observer does not want it.
  StackOwner owner{};
};

/// A range of mapped memory, whole pages. An unmapped range may be a part of a mapping, several
/// mappings, or none.
struct ObservedMapping {
  void* address = nullptr;
  std::size_t length = 0;
};

/// A type with callbacks. `on_track` follows an allocation, `on_untrack` precedes a free, so the
/// block belongs to the caller both times. Both run inside malloc, on the calling thread.
///
/// Observers see exactly the blocks that the tracker records, and so none from before the session
/// or from a pause. A reallocation is an `on_untrack` and an `on_track`; if it fails, both are of
/// one block. An `on_track` of a pointer that is still tracked means that a free was not seen.
///
/// An observer may allocate, which is not recorded. It must not throw, start a tracker, dump, or
/// wait for a lock that another thread may hold while it allocates.
///
/// Optional members:
/// - `on_map` and `on_unmap(const ObservedMapping&)`: mappings; a failed unmapping is followed by
///   `on_map`.
/// - `on_start()` and `on_stop()`: session begin and end, outside malloc.
/// - `offer(alloctap_slots&)`: adds functions for annotate.h when a session starts.
/// - `kWantsOwners`: if true, blocks have their owner.
/// - `add_to(Snapshot&)`: adds data to a snapshot while the world is stopped; returns false if out
///   of memory.
/// - `begin_timing(AllocatorCall, std::size_t bytes)` and `end_timing(const TimedCall&,
///   StackOwner)`: as in `TimingSink`, with the thread's current owner. At most one of several
///   observers may have them.
/// - `on_reallocate(const ObservedBlock& before, const ObservedBlock& after)`: `before`, this
///   thread's last `on_untrack`, became `after`, its last `on_track`. Another thread may own the
///   address of `before` by now.
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

/// Whether `O` gets callbacks.
template <class O>
inline constexpr bool kObserves = !std::same_as<O, NoObservers>;

/// Whether `O` has `on_reallocate`.
template <class O>
inline constexpr bool kObservesReallocations =
    requires(const ObservedBlock& block) { O::on_reallocate(block, block); };

/// Whether `O` wants the owners of blocks.
template <class O>
inline constexpr bool kWantsOwners = requires { requires O::kWantsOwners; };

/// Whether `O` times calls.
template <class O>
concept TimingObserver =
    requires(AllocatorCall call, std::size_t bytes, const TimedCall& timed, StackOwner owner) {
      { O::begin_timing(call, bytes) } noexcept -> std::same_as<const TimedCall*>;
      { O::end_timing(timed, owner) } noexcept -> std::same_as<void>;
    };

static_assert(Observer<NoObservers>);

}  // namespace alloctap
