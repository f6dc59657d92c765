/// The numbers of a frame.
#pragma once

#include <cstdint>

#include "alloctap/event/stack_owner.hpp"

namespace alloctap {

/// Frames are numbered from 1; 0 is what came before the first mark.
using FrameNumber = std::uint64_t;

/// What happened in a frame, or in a part of it. A reallocation is a deallocation and an
/// allocation.
struct FrameCounts {
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t deallocations = 0;
  std::uint64_t freed_bytes = 0;
  /// Time inside the allocator, estimated: each large call, and one in `kTimedOneIn` of the others.
  /// 0 where the hook does not take the time.
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

/// Of how many calls that are not large the time of one is taken, by chance.
inline constexpr std::uint32_t kTimedOneIn = 64;

/// No tags of the program: a row of all of them, and one of those that have none of their own.
inline constexpr TagId kAllTags = 0xFFFF;
inline constexpr TagId kOtherTags = 0xFFFE;

/// What one thread did for one tag in one frame.
struct FrameRow {
  FrameNumber frame = 0;
  /// The frame in which the row was written.
  FrameNumber written = 0;
  FrameCounts counts{};
  /// How far what the thread had allocated beyond what it had freed rose over what that was at the
  /// begin of the frame, in bytes.
  std::uint64_t rise = 0;
  TagId tag = kNoTag;
};

}  // namespace alloctap
