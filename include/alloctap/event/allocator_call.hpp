/// The time of one call of the allocator, and the sink that measures it.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/os/thread_usage.hpp"

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

/// A call that is being timed.
struct TimedCall {
  /// Time of `os::monotonic_ns`.
  std::int64_t begin_ns = 0;
  /// The sample weight: the number of calls that this one represents.
  std::uint32_t weight = 0;
  AllocatorCall call = AllocatorCall::kAllocate;
  /// The size of the block in bytes; 0 if unknown.
  std::size_t bytes = 0;
  /// The thread's resource usage at the beginning; valid only if `has_usage`.
  os::ThreadUsage usage{};
  bool has_usage = false;
};

/// A sink that times some calls. `begin_timing` runs immediately before the real call; for a free,
/// after `on_deallocate` and with 0 `bytes`, because the sink knows the block. It returns nullptr
/// if it does not time this call.
///
/// `end_timing` gets that result after the real call and before `on_allocate`, unless the call
/// throws. Both run inside malloc and preserve errno.
template <class S>
concept TimingSink =
    EventSink<S> && requires(AllocatorCall call, std::size_t bytes, const TimedCall& timed) {
      { S::begin_timing(call, bytes) } noexcept -> std::same_as<const TimedCall*>;
      { S::end_timing(timed) } noexcept -> std::same_as<void>;
    };

}  // namespace alloctap
