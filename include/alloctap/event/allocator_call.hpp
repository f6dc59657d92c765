/// What is known of the time that one call spent inside the allocator.
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

/// What a program calls an allocator for.
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

/// A call whose time is taken, from its begin to its end.
struct TimedCall {
  /// Of `os::monotonic_ns`.
  std::int64_t begin_ns = 0;
  /// For how many calls this one stands.
  std::uint32_t weight = 0;
  AllocatorCall call = AllocatorCall::kAllocate;
  /// Bytes that the program asked for, or gives back; 0 where that is not known.
  std::size_t bytes = 0;
  /// What the thread had used up at the begin; unknown unless `has_usage`.
  os::ThreadUsage usage{};
  bool has_usage = false;
};

/// A sink that takes the time of some calls. `begin_timing` is asked immediately before the real
/// call, and for a free (whose `bytes` are 0: the sink knows the block) behind `on_deallocate`. It
/// returns nullptr where it does not take the time of this one; else what `end_timing` is told
/// behind the real call, before `on_allocate`, unless the call throws. Both run inside malloc, and
/// leave errno as it is.
template <class S>
concept TimingSink =
    EventSink<S> && requires(AllocatorCall call, std::size_t bytes, const TimedCall& timed) {
      { S::begin_timing(call, bytes) } noexcept -> std::same_as<const TimedCall*>;
      { S::end_timing(timed) } noexcept -> std::same_as<void>;
    };

}  // namespace alloctap
