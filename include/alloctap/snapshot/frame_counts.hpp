/// Per-frame counters of a game.
#pragma once

#include <cstdint>

#include "alloctap/event/stack_owner.hpp"

namespace alloctap {

/// Number of a game frame. The first mark begins game frame 1; 0 is the time before that mark.
using FrameNumber = std::uint64_t;

/// Allocator activity in a game frame or for one tag or stack in it. A reallocation counts as a
/// deallocation and an allocation.
struct FrameCounts {
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t freed_bytes = 0;
  /// Estimated time in the allocator, from all large calls and a random sample of one in
  /// `kTimedOneIn` other calls. 0 if the hook does not measure time.
  std::uint64_t allocator_ns = 0;

  constexpr FrameCounts& operator+=(const FrameCounts& other) noexcept {
    allocations += other.allocations;
    allocated_bytes += other.allocated_bytes;
    deallocations += other.deallocations;
    freed_bytes += other.freed_bytes;
    allocator_ns += other.allocator_ns;
    return *this;
  }
  friend constexpr bool operator==(const FrameCounts&, const FrameCounts&) noexcept = default;
};

/// Sampling rate of timed calls: one in this many small calls is timed, at random.
inline constexpr std::uint32_t kTimedOneIn = 64;

/// Pseudo-tags: `kAllTags` is the sum over all tags, `kOtherTags` over tags without rows.
inline constexpr TagId kAllTags = 0xFFFF;
inline constexpr TagId kOtherTags = 0xFFFE;

/// Counts of one thread for one tag in one game frame.
struct FrameRow {
  FrameNumber frame = 0;
  /// The game frame in which the row was written.
  FrameNumber written = 0;
  FrameCounts counts{};
  /// Peak of the thread's net allocation (allocated minus freed bytes) above its value at the begin
  /// of the game frame.
  std::uint64_t rise = 0;
  TagId tag = kNoTag;
};

}  // namespace alloctap
