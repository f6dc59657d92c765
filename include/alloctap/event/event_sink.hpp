/// The contract of event sinks: what a hook backend reports events to.
#pragma once

#include <concepts>
#include <cstddef>

#include "alloctap/event/allocation_event.hpp"

namespace alloctap {

/// Mappings removed from the records for the time of a system call; restored if it fails. Opaque to
/// backends. The caller owns it until `cancel_unmap` or `finish_unmap`.
struct DetachedMappings {
  void* first = nullptr;
  /// The range to be unmapped, if the sink needs it later.
  void* address = nullptr;
  std::size_t length = 0;
};

/// A type with static functions, so that C entry points need no context pointer. All run inside
/// malloc: they must not throw, allocate from the program's allocator or acquire its locks.
///
/// `on_allocate` and `on_map` follow the real call. `on_deallocate` precedes it, because afterwards
/// another thread may own the address. A reallocation or unmapping, which may fail, begins before
/// the real call and is finished or cancelled after it. `on_modules_unloading` precedes a call that
/// may unload code, `on_modules_unloaded` follows it; neither runs inside malloc.
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

/// A sink that samples, so that it skips most calls. Backends call it before `on_allocate`,
/// `on_deallocate` and any other filter. `try_skip` gets a new block, whose size `bytes_of()`
/// returns; `try_skip_free` gets a block about to be freed; neither is null. If they return true
/// the sink has counted the call and wants no event. Otherwise the event may go to the
/// `..._sampled_in` functions, which do not repeat the check.
template <class S>
concept SkippingSink =
    EventSink<S> && requires(void* block, std::size_t (&bytes_of)(),
                             const AllocationEvent& allocation, const CallOrigin& origin) {
      { S::try_skip(block, bytes_of) } noexcept -> std::same_as<bool>;
      { S::try_skip_free(block) } noexcept -> std::same_as<bool>;
      { S::on_allocate_sampled_in(allocation) } noexcept -> std::same_as<void>;
      { S::on_deallocate_sampled_in(block, origin) } noexcept -> std::same_as<void>;
    };

/// Whether `on_allocate` and `on_deallocate` of `S` preserve errno (or GetLastError). Backends
/// preserve it for all other sinks.
template <class S>
inline constexpr bool kLeavesErrnoAlone = requires { requires S::leaves_errno_alone; };

/// A minimal model of `EventSink`, to check backends against.
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

/// The sink of a tracker's hook: for an alloctap::Tracker, implement.hpp defines it; for another
/// type, it is the member `Sink`.
template <class Tracker>
struct SinkOfTracker {
  using Type = typename Tracker::Sink;
};
template <class Tracker>
using SinkOf = typename SinkOfTracker<Tracker>::Type;

}  // namespace alloctap
