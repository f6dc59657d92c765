/// By which family of calls memory came or went.
#pragma once

#include <cstdint>

namespace alloctap {

/// The call that produced a block, as far as it matters for giving it back.
enum class AllocationKind : std::uint8_t {
  kMalloc,
  kAlignedAlloc,
  kNew,
  kNewArray,
  kAlignedNew,
  kAlignedNewArray,
  /// Of Windows' C libraries, where free does not take it.
  kAlignedMalloc,
  kCustom,
};

/// The call that gave a block back.
enum class DeallocationKind : std::uint8_t {
  kFree,
  kRealloc,
  kDelete,
  kDeleteArray,
  kAlignedDelete,
  kAlignedDeleteArray,
  /// _aligned_free and what reallocates by the same rules.
  kAlignedFree,
  kCustom,
};

}  // namespace alloctap
