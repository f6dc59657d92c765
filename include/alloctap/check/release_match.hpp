/// Which deallocation call matches which allocation call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/allocation_kind.hpp"

namespace alloctap {

/// How a deallocation call mismatches a live block.
enum class ReleaseFault : std::uint8_t { kNone, kKind, kSize, kAlignment };

/// Returns whether the deallocation call `release` may free a block of `kind`: C++ [new.delete], C
/// 7.24.3. free and realloc match all of malloc's family, aligned or not. Custom allocators match
/// only themselves.
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

/// Returns whether the calls mismatch only because exactly one of them is an aligned form.
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

/// Returns how `gone` mismatches a block of the given kind, size and alignment (both in bytes).
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
