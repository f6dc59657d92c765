/// The families of allocation and deallocation functions, which must match for a block.
#pragma once

#include <cstdint>

namespace alloctap {

/// The family of functions that allocated a block; it decides which function may free it.
enum class AllocationKind : std::uint8_t {
  kMalloc,
  kAlignedAlloc,
  kNew,
  kNewArray,
  kAlignedNew,
  kAlignedNewArray,
  /// `_aligned_malloc` of Windows' C libraries, whose blocks `free` must not get.
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
