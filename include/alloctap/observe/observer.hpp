/// The contract of observers: callbacks to the program for each allocation and free.
#pragma once

#include <concepts>
#include <cstddef>

#include "alloctap/annotate.h"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/event/policy_features.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// A block whose allocation or free is reported to an observer.
struct ObservedBlock {
  void* pointer = nullptr;
  /// The requested size in bytes.
  std::size_t size = 0;
  /// The stack's id, as in snapshots of the tracker that calls the observer.
  StackId stack = kNoStackId;
  /// The owner of the stack; empty if `Config::Tags` has no owners or the observer lacks the
  /// feature `wants_owners`.
  StackOwner owner{};
};

/// A range of whole pages that is mapped or unmapped. An unmapped range may cover a part of a
/// mapping, several mappings or no mapping.
struct ObservedMapping {
  void* address = nullptr;
  std::size_t length = 0;
};

/// What an observer has besides `on_track` and `on_untrack`: static functions of these names.
struct ObserverFeatures {
  /// `on_start()`: a session begins. Runs outside malloc.
  bool on_start = false;
  /// `on_stop()`: a session ends. Runs outside malloc.
  bool on_stop = false;
  /// `on_map(const ObservedMapping&)`: pages were mapped, or an unmapping failed.
  bool on_map = false;
  /// `on_unmap(const ObservedMapping&)`: pages are about to be unmapped.
  bool on_unmap = false;
  /// `on_reallocate(const ObservedBlock& before, const ObservedBlock& after)`: a reallocation
  /// succeeded. This thread's last `on_untrack` had `before`, its last `on_track` has `after`.
  /// Another thread may already own the address of `before`.
  bool on_reallocate = false;
  /// `begin_timing(AllocatorCall, std::size_t bytes)` and `end_timing(const TimedCall&,
  /// StackOwner)`: as in `TimingSink`; `StackOwner` is the thread's current owner. At most one of
  /// several observers may have these functions.
  bool begin_timing = false;
  /// `add_to(Snapshot&)`: adds data to a snapshot while the world is stopped; returns false if out
  /// of memory.
  bool add_to = false;
  /// `offer(alloctap_slots&)`: adds functions for annotate.h when a session starts.
  bool offer = false;
  /// The observer reads `ObservedBlock::owner`. Requires no member.
  bool wants_owners = false;
};

/// A type with static callbacks. `on_track` follows an allocation and `on_untrack` precedes a free,
/// so the caller owns the block in both callbacks. Both run inside malloc, on the calling thread.
///
/// Observers get exactly the blocks that the tracker records: no block allocated before the session
/// or in a pause. A reallocation calls `on_untrack`, then `on_track`; if the reallocation fails,
/// both callbacks get the old block. If `on_track` gets a pointer that is still tracked, the free
/// of the earlier block was not observed.
///
/// An observer may allocate; its allocations are not recorded. It must not throw, start a tracker,
/// dump, or wait for a lock that another thread may hold while it allocates.
///
/// `features` declares which members of `ObserverFeatures` the observer has.
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

/// Whether `O` observes anything, so that trackers contain code for callbacks.
template <class O>
inline constexpr bool kObserves = !std::same_as<O, NoObservers>;

template <class O>
inline constexpr auto kObserverFeatures = features_of<ObserverFeatures, O>();

/// When instantiated, rejects an observer `O` whose declared features differ from its members.
template <class O>
struct CheckedObserver {
  static constexpr ObserverFeatures kHas = kObserverFeatures<O>;
  ALLOCTAP_CHECK_FEATURE("Observer", kHas, on_start, requires { O::on_start(); });
  ALLOCTAP_CHECK_FEATURE("Observer", kHas, on_stop, requires { O::on_stop(); });
  ALLOCTAP_CHECK_FEATURE(
      "Observer", kHas, on_map, requires(const ObservedMapping& mapping) { O::on_map(mapping); });
  ALLOCTAP_CHECK_FEATURE(
      "Observer", kHas, on_unmap,
      requires(const ObservedMapping& mapping) { O::on_unmap(mapping); });
  ALLOCTAP_CHECK_FEATURE(
      "Observer", kHas, on_reallocate,
      requires(const ObservedBlock& block) { O::on_reallocate(block, block); });
  ALLOCTAP_CHECK_FEATURE(
      "Observer", kHas, begin_timing,
      requires(AllocatorCall call, std::size_t bytes, const TimedCall& timed, StackOwner owner) {
        { O::begin_timing(call, bytes) } noexcept -> std::same_as<const TimedCall*>;
        { O::end_timing(timed, owner) } noexcept -> std::same_as<void>;
      });
  ALLOCTAP_CHECK_FEATURE(
      "Observer", kHas, offer, requires(alloctap_slots& slots) { O::offer(slots); });
  static constexpr bool ok = true;
};

static_assert(Observer<NoObservers>);

}  // namespace alloctap
