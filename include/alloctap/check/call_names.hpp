/// Names of allocation and deallocation calls in reports.
#pragma once

#include <string_view>

#include "alloctap/event/allocation_kind.hpp"

namespace alloctap {

[[nodiscard]] constexpr std::string_view name_of(AllocationKind kind) noexcept {
  switch (kind) {
    case AllocationKind::kMalloc:
      return "malloc";
    case AllocationKind::kAlignedAlloc:
      return "aligned_alloc";
    case AllocationKind::kNew:
      return "new";
    case AllocationKind::kNewArray:
      return "new[]";
    case AllocationKind::kAlignedNew:
      return "aligned new";
    case AllocationKind::kAlignedNewArray:
      return "aligned new[]";
    case AllocationKind::kAlignedMalloc:
      return "_aligned_malloc";
    case AllocationKind::kCustom:
      return "an allocator of its own";
  }
  return "?";
}

[[nodiscard]] constexpr std::string_view name_of(DeallocationKind kind) noexcept {
  switch (kind) {
    case DeallocationKind::kFree:
      return "free";
    case DeallocationKind::kRealloc:
      return "realloc";
    case DeallocationKind::kDelete:
      return "delete";
    case DeallocationKind::kDeleteArray:
      return "delete[]";
    case DeallocationKind::kAlignedDelete:
      return "aligned delete";
    case DeallocationKind::kAlignedDeleteArray:
      return "aligned delete[]";
    case DeallocationKind::kAlignedFree:
      return "_aligned_free";
    case DeallocationKind::kCustom:
      return "an allocator of its own";
  }
  return "?";
}

}  // namespace alloctap
