/// The families of allocation and deallocation functions, to detect mismatches.
#pragma once

#include <cstdint>

namespace alloctap {

/// The function family that allocated a block. It determines which functions may free the block.
enum class AllocationKind : std::uint8_t {
  kMalloc,
  kAlignedAlloc,
  kNew,
  kNewArray,
  kAlignedNew,
  kAlignedNewArray,
  /// `_aligned_malloc` of Windows' C libraries. Its blocks must not be passed to `free`.
  kAlignedMalloc,
  kCustom,
};

/// The family of functions that frees a block.
enum class DeallocationKind : std::uint8_t {
  kFree,
  kRealloc,
  kDelete,
  kDeleteArray,
  kAlignedDelete,
  kAlignedDeleteArray,
  /// `_aligned_free`, and `_aligned_realloc` and its variants.
  kAlignedFree,
  kCustom,
};

}  // namespace alloctap
