/// The receiving end of a hook backend.
#pragma once

#include <concepts>
#include <cstddef>

#include "alloctap/event/allocation_event.hpp"

namespace alloctap {

/// A range of mappings taken out for the time of a system call; put back if that fails. Opaque to
/// backends; owned by whoever holds it until it is handed to `cancel_unmap` or `finish_unmap`.
struct DetachedMappings {
  void* first = nullptr;
  /// The range that is unmapped, where the sink needs it again.
  void* address = nullptr;
  std::size_t length = 0;
};

/// A type with static functions, so that C entry points need no context pointer. All run inside
/// malloc: none may throw, allocate from the host or take a host's lock.
///
/// Order of calls: `on_allocate` and `on_map` follow the real call; `on_deallocate` comes before
/// it, because afterwards another thread may own the address. A reallocation, and an unmapping,
/// that may fail is begun before the real call and finished or cancelled after it.
/// `on_modules_unloading` precedes what may take code away, and `on_modules_unloaded` follows it;
/// neither is called inside malloc.
template <class S>
concept EventSink =
    requires(const AllocationEvent& allocation, const DeallocationEvent& gone,
             const DetachedBlock& block, const MappingEvent& mapping, DetachedMappings& detached) {
      { S::on_allocate(allocation) } noexcept -> std::same_as<void>;
      { S::on_deallocate(gone) } noexcept -> std::same_as<void>;
      { S::begin_reallocate(gone) } noexcept -> std::same_as<DetachedBlock>;
      { S::cancel_reallocate(block) } noexcept -> std::same_as<void>;
      { S::finish_reallocate(block) } noexcept -> std::same_as<void>;
      { S::on_map(mapping) } noexcept -> std::same_as<void>;
      { S::begin_unmap(mapping) } noexcept -> std::same_as<DetachedMappings>;
      { S::cancel_unmap(detached) } noexcept -> std::same_as<void>;
      { S::finish_unmap(detached) } noexcept -> std::same_as<void>;
      { S::on_modules_unloading() } noexcept -> std::same_as<void>;
      { S::on_modules_unloaded() } noexcept -> std::same_as<void>;
    };

/// A sink that passes over most calls. It is asked before `on_allocate` and `on_deallocate`, and
/// before anything else that says whether events are wanted: `try_skip` of a block that the program
/// was just given, of as many bytes as `bytes_of()` says; `try_skip_free` of one that it is about
/// to give back; neither of them null. True: the sink has counted the call, and wants no event of
/// it. Else it may be told by the functions that do not ask again.
template <class S>
concept SkippingSink =
    EventSink<S> && requires(void* block, std::size_t (&bytes_of)(),
                             const AllocationEvent& allocation, const CallOrigin& origin) {
      { S::try_skip(block, bytes_of) } noexcept -> std::same_as<bool>;
      { S::try_skip_free(block) } noexcept -> std::same_as<bool>;
      { S::on_allocate_sampled_in(allocation) } noexcept -> std::same_as<void>;
      { S::on_deallocate_sampled_in(block, origin) } noexcept -> std::same_as<void>;
    };

/// Whether `on_allocate` and `on_deallocate` of `S` leave errno, or what the system has in its
/// place, as they find it. Backends see to that for all others.
template <class S>
inline constexpr bool kLeavesErrnoAlone = requires { requires S::leaves_errno_alone; };

/// The least that models `EventSink`; what backends are checked against.
struct EventSinkArchetype {
  static void on_allocate(const AllocationEvent&) noexcept {}
  static void on_deallocate(const DeallocationEvent&) noexcept {}
  static DetachedBlock begin_reallocate(const DeallocationEvent&) noexcept { return {}; }
  static void cancel_reallocate(const DetachedBlock&) noexcept {}
  static void finish_reallocate(const DetachedBlock&) noexcept {}
  static void on_map(const MappingEvent&) noexcept {}
  static DetachedMappings begin_unmap(const MappingEvent&) noexcept { return {}; }
  static void cancel_unmap(DetachedMappings&) noexcept {}
  static void finish_unmap(DetachedMappings&) noexcept {}
  static void on_modules_unloading() noexcept {}
  static void on_modules_unloaded() noexcept {}
};

static_assert(EventSink<EventSinkArchetype>);

/// What the hook of `Tracker` feeds: of an alloctap::Tracker what implement.hpp says, of another
/// type its `Sink`.
template <class Tracker>
struct SinkOfTracker {
  using Type = typename Tracker::Sink;
};
template <class Tracker>
using SinkOf = typename SinkOfTracker<Tracker>::Type;

}  // namespace alloctap
