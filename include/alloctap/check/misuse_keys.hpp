/// Names of fault kinds and of allocation calls in reports, files and options.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "alloctap/check/misuse.hpp"
#include "alloctap/event/allocation_event.hpp"

namespace alloctap {

// Names of fault kinds in files and options.

/// Returns the name of `kind` in recordings, suppressions and options, in lower case with '_'.
[[nodiscard]] constexpr std::string_view key_of(MisuseKind kind) noexcept {
  switch (kind) {
    case MisuseKind::kDoubleFree:
      return "double_free";
    case MisuseKind::kUnknownPointer:
      return "unknown_pointer";
    case MisuseKind::kInteriorPointer:
      return "interior_pointer";
    case MisuseKind::kKindMismatch:
      return "mismatched_release";
    case MisuseKind::kWrongSize:
      return "wrong_size";
    case MisuseKind::kWrongAlignment:
      return "wrong_alignment";
    case MisuseKind::kWrongHeap:
      return "wrong_heap";
    case MisuseKind::kWriteBefore:
      return "write_before";
    case MisuseKind::kWriteBehind:
      return "write_behind";
    case MisuseKind::kWriteAfterFree:
      return "write_after_free";
    case MisuseKind::kReadBefore:
      return "read_before";
    case MisuseKind::kReadBehind:
      return "read_behind";
    case MisuseKind::kReadAfterFree:
      return "read_after_free";
    case MisuseKind::kOverlappingCopy:
      return "overlapping_copy";
  }
  return "misuse";
}

/// Returns the kind with the name `key`, or nullopt.
[[nodiscard]] constexpr std::optional<MisuseKind> misuse_kind_of(std::string_view key) noexcept {
  for (std::size_t i = 0; i < kMisuseKinds; ++i) {
    const auto kind = static_cast<MisuseKind>(i);
    if (key_of(kind) == key) return kind;
  }
  return std::nullopt;
}

// Names of allocation and deallocation calls in reports.

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
