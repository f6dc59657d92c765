/// The timing of a call of the allocator, and the contract of sinks that time calls.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/os/clock.hpp"

namespace alloctap {

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
