/// Which calls may give back what which calls returned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/allocation_kind.hpp"

namespace alloctap {

/// What is wrong with a call that gives a live block back.
enum class ReleaseFault : std::uint8_t { kNone, kKind, kSize, kAlignment };

/// Whether `release` may give back a block of `kind`. C++ standard, [new.delete]; C
/// standard, 7.24.3: what malloc's family returns goes by free and realloc, aligned or not. A
/// program's own allocator is its own affair.
[[nodiscard]] constexpr bool fits(AllocationKind kind, DeallocationKind release) noexcept {
  switch (kind) {
    case AllocationKind::kMalloc:
    case AllocationKind::kAlignedAlloc:
      return release == DeallocationKind::kFree || release == DeallocationKind::kRealloc;
    case AllocationKind::kNew:
      return release == DeallocationKind::kDelete;
    case AllocationKind::kNewArray:
      return release == DeallocationKind::kDeleteArray;
    case AllocationKind::kAlignedNew:
      return release == DeallocationKind::kAlignedDelete;
    case AllocationKind::kAlignedNewArray:
      return release == DeallocationKind::kAlignedDeleteArray;
    case AllocationKind::kAlignedMalloc:
      return release == DeallocationKind::kAlignedFree;
    case AllocationKind::kCustom:
      return release == DeallocationKind::kCustom;
  }
  return true;
}

/// Whether they differ in that one of them has an alignment, and in nothing else.
[[nodiscard]] constexpr bool differ_in_alignment(AllocationKind kind,
                                                 DeallocationKind release) noexcept {
  switch (kind) {
    case AllocationKind::kNew:
      return release == DeallocationKind::kAlignedDelete;
    case AllocationKind::kNewArray:
      return release == DeallocationKind::kAlignedDeleteArray;
    case AllocationKind::kAlignedNew:
      return release == DeallocationKind::kDelete;
    case AllocationKind::kAlignedNewArray:
      return release == DeallocationKind::kDeleteArray;
    case AllocationKind::kMalloc:
    case AllocationKind::kAlignedAlloc:
    case AllocationKind::kAlignedMalloc:
    case AllocationKind::kCustom:
      return false;
  }
  return false;
}

/// What is wrong with `gone` for a block of that kind, size and alignment, in bytes.
[[nodiscard]] constexpr ReleaseFault find_release_fault(const DeallocationEvent& gone,
                                                        AllocationKind kind, std::uint64_t size,
                                                        std::size_t alignment) noexcept {
  if (differ_in_alignment(kind, gone.kind)) return ReleaseFault::kAlignment;
  if (!fits(kind, gone.kind)) return ReleaseFault::kKind;
  if (gone.stated_size != 0 && gone.stated_size != size) return ReleaseFault::kSize;
  if (gone.stated_alignment != 0 && gone.stated_alignment != alignment) {
    return ReleaseFault::kAlignment;
  }
  return ReleaseFault::kNone;
}

}  // namespace alloctap
