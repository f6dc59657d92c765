/// The contract of observers: code of the program's that is told of each block as it comes and
/// goes.
#pragma once

#include <concepts>
#include <cstddef>

#include "alloctap/event/allocator_call.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/event/stack_owner.hpp"

namespace alloctap {

/// A block as observers see it.
struct ObservedBlock {
  void* pointer = nullptr;
  /// Bytes that the program asked for.
  std::size_t size = 0;
  /// As in snapshots of the same tracker.
  StackId stack = kNoStackId;
  /// Of the stack; nobody where `Config::Tags` tell none, or the observer does not ask.
  StackOwner owner{};
};

/// Address space, whole pages. What is unmapped need not be one mapping: it may be a part of one,
/// several, or nothing.
struct ObservedMapping {
  void* address = nullptr;
  std::size_t length = 0;
};

/// `on_track` follows the allocation, `on_untrack` precedes the free: the block is the caller's
/// both times. Both run inside malloc, on the thread that called it. Each block of which an
/// observer is told to come is one that the tracker records, and of each that goes it was told
/// before; of blocks that came before the session, or in a pause, it hears nothing. A reallocation
/// is the end of one block and the beginning of another one, and one that fails is too, of the same
/// block both times. Where `on_track` tells of a pointer that has not gone, the free of the block
/// before went unseen.
///
/// An observer may allocate: that is not recorded. It must not throw, wait for what another thread
/// may hold while that allocates, start a tracker or dump.
///
/// `on_map(const ObservedMapping&)` and `on_unmap(const ObservedMapping&)` may be added, for mapped
/// memory; an unmapping that fails is followed by an `on_map`. So may `on_start()` and `on_stop()`,
/// for the beginning and the end of a session, not inside malloc, and `offer(alloctap_slots&)`,
/// which puts down what it has for annotate.h when a session starts. An observer whose
/// `kWantsOwners` is true is told the owner of each block. `add_to(Snapshot&)` adds what it knows
/// to each snapshot, behind the closed gate; false where the system has no memory for it.
/// `begin_timing(AllocatorCall, std::size_t bytes)` and `end_timing(const TimedCall&, StackOwner)`
/// are those of `TimingSink`, the latter with what the thread was doing: of several observers, one
/// may have them.
///
/// `on_reallocate(const ObservedBlock& before, const ObservedBlock& after)` may be added too: the
/// block whose end was told last on this thread went on as the one that was just told to come. The
/// address of `before` may be another thread's by now.
template <class O>
concept Observer = requires(const ObservedBlock& block) {
  { O::on_track(block) } noexcept -> std::same_as<void>;
  { O::on_untrack(block) } noexcept -> std::same_as<void>;
};

/// Observes nothing; not an instruction of it is compiled.
struct NoObservers {
  static void on_track(const ObservedBlock&) noexcept {}
  static void on_untrack(const ObservedBlock&) noexcept {}
};

/// Whether `O` is told anything.
template <class O>
inline constexpr bool kObserves = !std::same_as<O, NoObservers>;

/// Whether `O` wants to know what a reallocation made of what.
template <class O>
inline constexpr bool kObservesReallocations =
    requires(const ObservedBlock& block) { O::on_reallocate(block, block); };

/// Whether `O` asks for the owners of blocks.
template <class O>
inline constexpr bool kWantsOwners = requires { requires O::kWantsOwners; };

/// Whether `O` takes the time of calls.
template <class O>
concept TimingObserver =
    requires(AllocatorCall call, std::size_t bytes, const TimedCall& timed, StackOwner owner) {
      { O::begin_timing(call, bytes) } noexcept -> std::same_as<const TimedCall*>;
      { O::end_timing(timed, owner) } noexcept -> std::same_as<void>;
    };

static_assert(Observer<NoObservers>);

}  // namespace alloctap
