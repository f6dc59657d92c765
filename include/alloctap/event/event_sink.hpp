/// The contracts of sinks that hook backends call: events, allocation failures, timed calls.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/os/clock.hpp"

namespace alloctap {

/// Mapping records removed before a system call, to be restored if the call fails. Opaque to
/// backends, which own the object until they pass it to `cancel_unmap` or `finish_unmap`.
struct DetachedMappings {
  void* first = nullptr;
  /// The range that the system call unmaps, if the sink needs it later.
  void* address = nullptr;
  std::size_t length = 0;
};

/// A type to which hook backends report events. Its functions are static, so that C entry points
/// need no context pointer. They run inside malloc, so they must not throw, nor use the program's
/// allocator or its locks.
///
/// `on_allocate` and `on_map` follow the real call. `on_deallocate` precedes the real call, because
/// later another thread may own the address. Reallocations and unmappings may fail: `begin_...`
/// precedes the real call, `finish_...` or `cancel_...` follows it. `on_modules_unloading` precedes
/// a call that may unload code, `on_modules_unloaded` follows it; these two run outside malloc.
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

/// A sink that samples, and so skips most calls. Backends call `try_skip` before `on_allocate` and
/// `try_skip_free` before `on_deallocate`, and before any other filter. `block` is not null;
/// `bytes_of()` returns the size of the new block. If the result is true, the sink has counted the
/// call and gets no event. Otherwise pass the event to `on_..._sampled_in`, which does not repeat
/// this decision.
template <class S>
concept SkippingSink =
    EventSink<S> && requires(void* block, std::size_t (&bytes_of)(),
                             const AllocationEvent& allocation, const CallOrigin& origin) {
      { S::try_skip(block, bytes_of) } noexcept -> std::same_as<bool>;
      { S::try_skip_free(block) } noexcept -> std::same_as<bool>;
      { S::on_allocate_sampled_in(allocation) } noexcept -> std::same_as<void>;
      { S::on_deallocate_sampled_in(block, origin) } noexcept -> std::same_as<void>;
    };

/// Whether `on_allocate` and `on_deallocate` of `S` preserve errno (or GetLastError). For other
/// sinks the backend preserves errno.
template <class S>
inline constexpr bool kLeavesErrnoAlone = requires { requires S::leaves_errno_alone; };

/// A minimal model of `EventSink`, with which backends are compiled in tests.
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

/// The sink type of a tracker's hook. implement.hpp specializes this for alloctap::Tracker; any
/// other type has a member `Sink`.
template <class Tracker>
struct SinkOfTracker {
  using Type = typename Tracker::Sink;
};
template <class Tracker>
using SinkOf = typename SinkOfTracker<Tracker>::Type;

/// An allocation that is about to be made.
struct AskedAllocation {
  /// The requested size in bytes.
  std::size_t size = 0;
  /// Whether the tracker itself allocates, for a snapshot or a report.
  bool is_own = false;
  CallOrigin origin;
};

/// A sink that can make an allocation fail as if out of memory. All functions run inside malloc,
/// before the allocator, on any thread, even without a session. `may_refuse` is called for every
/// allocation, so it must only load a variable. If `may_refuse` returns true, the hook calls
/// `refuses`. When the allocation ends, failed or not, the hook calls `end_asked` on that thread.
/// Until then, the hook also calls `refuses` for nested allocations by the allocator or the C++
/// library. `refuses` must return false for nested allocations: they are not the program's.
template <class S>
concept RefusingSink = EventSink<S> && requires(const AskedAllocation& asked) {
  { S::may_refuse() } noexcept -> std::same_as<bool>;
  { S::refuses(asked) } noexcept -> std::same_as<bool>;
  { S::end_asked() } noexcept -> std::same_as<void>;
};

/// The purpose of an allocator call.
enum class AllocatorCall : std::uint8_t { kAllocate, kReallocate, kFree };
inline constexpr std::array<AllocatorCall, 3> kAllAllocatorCalls{
    AllocatorCall::kAllocate, AllocatorCall::kReallocate, AllocatorCall::kFree};

[[nodiscard]] constexpr std::string_view name_of(AllocatorCall call) noexcept {
  switch (call) {
    case AllocatorCall::kReallocate:
      return "reallocate";
    case AllocatorCall::kFree:
      return "free";
    case AllocatorCall::kAllocate:
      break;
  }
  return "allocate";
}

/// A call of the allocator that is being timed.
struct TimedCall {
  /// The start time, from `os::monotonic_ns`.
  std::int64_t begin_ns = 0;
  /// The sample weight: the number of calls that this timed call represents.
  std::uint32_t weight = 0;
  AllocatorCall call = AllocatorCall::kAllocate;
  /// The size of the block in bytes; 0 if unknown.
  std::size_t bytes = 0;
  /// The thread's resource usage at the start; valid only if `has_usage`.
  os::ThreadUsage usage{};
  bool has_usage = false;
};

/// A sink that times some calls. `begin_timing` runs immediately before the real call. It returns
/// nullptr if this call is not timed. For a free, `begin_timing` follows `on_deallocate`, and
/// `bytes` is 0 because the sink already knows the block.
///
/// `end_timing` gets the result of `begin_timing`. It runs after the real call and before
/// `on_allocate`, unless the real call throws. Both functions run inside malloc and preserve errno.
template <class S>
concept TimingSink =
    EventSink<S> && requires(AllocatorCall call, std::size_t bytes, const TimedCall& timed) {
      { S::begin_timing(call, bytes) } noexcept -> std::same_as<const TimedCall*>;
      { S::end_timing(timed) } noexcept -> std::same_as<void>;
    };

}  // namespace alloctap
