/// A detected misuse of a block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/check/byte_pattern.hpp"
#include "alloctap/event/allocation_kind.hpp"
#include "alloctap/event/memory_access.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/os/heap_handle.hpp"
#include "alloctap/os/thread.hpp"

namespace alloctap {

enum class MisuseKind : std::uint8_t {
  /// The block was freed before.
  kDoubleFree,
  /// No allocation returned the address.
  kUnknownPointer,
  /// The address lies inside a live block, behind its begin.
  kInteriorPointer,
  kKindMismatch,
  kWrongSize,
  kWrongAlignment,
  /// The block was freed to a heap that did not allocate it.
  kWrongHeap,
  kWriteBefore,
  kWriteBehind,
  kWriteAfterFree,
  kReadBefore,
  kReadBehind,
  kReadAfterFree,
  /// The source and destination of a copy such as memcpy overlap.
  kOverlappingCopy,
};
inline constexpr std::size_t kMisuseKinds = 14;

/// Stack, thread and time of an allocation or deallocation call.
struct BlockCall {
  StackId stack = kNoStackId;
  os::ThreadId thread = 0;
  /// Time of the call from `os::coarse_monotonic_ns`, in nanoseconds.
  std::int64_t time_ns = 0;
};

/// The allocation of a block, and its deallocation if it was freed.
struct BlockHistory {
  /// Whether a block was found. If false, the other members are meaningless.
  bool known = false;
  bool freed = false;
  std::uintptr_t address = 0;
  /// Requested bytes.
  std::uint64_t size = 0;
  /// Alignment in bytes; 0 if the allocation call named no alignment.
  std::size_t alignment = 0;
  AllocationKind kind = AllocationKind::kMalloc;
  DeallocationKind freed_by = DeallocationKind::kFree;
  BlockCall allocated;
  BlockCall gone;
  [[no_unique_address]] os::HeapHandle heap{};
};

/// A fault, and the call that detected it.
struct Misuse {
  MisuseKind kind = MisuseKind::kDoubleFree;
  /// The call that detected the fault. An overwrite itself happened before this call.
  BlockCall found;
  /// The kind of deallocation, if `found` is a deallocation call.
  DeallocationKind call = DeallocationKind::kFree;
  /// Whether a sweep over all blocks detected the fault, rather than a call of the program.
  bool by_sweep = false;
  /// The address that the program passed to `found`.
  std::uintptr_t address = 0;
  /// The size that the deallocation call stated, in bytes; 0 if it stated no size.
  std::uint64_t stated_size = 0;
  std::size_t stated_alignment = 0;
  /// The heap that the deallocation call named.
  [[no_unique_address]] os::HeapHandle heap{};
  BlockHistory block;
  /// The overwritten bytes, if the fault is an overwrite that was detected later.
  ChangedBytes changed;
  /// The invalid access, if the fault was detected at the access. A copy is stored as its write.
  MemoryAccess access;
  /// The source address of a copy.
  std::uintptr_t source = 0;
};

[[nodiscard]] constexpr std::string_view name_of(MisuseKind kind) noexcept {
  switch (kind) {
    case MisuseKind::kDoubleFree:
      return "double free";
    case MisuseKind::kUnknownPointer:
      return "free of an unknown address";
    case MisuseKind::kInteriorPointer:
      return "free of an address inside a block";
    case MisuseKind::kKindMismatch:
      return "mismatched release";
    case MisuseKind::kWrongSize:
      return "release with a wrong size";
    case MisuseKind::kWrongAlignment:
      return "release with a wrong alignment";
    case MisuseKind::kWrongHeap:
      return "release to another heap";
    case MisuseKind::kWriteBefore:
      return "write before a block";
    case MisuseKind::kWriteBehind:
      return "write behind a block";
    case MisuseKind::kWriteAfterFree:
      return "write after free";
    case MisuseKind::kReadBefore:
      return "read before a block";
    case MisuseKind::kReadBehind:
      return "read behind a block";
    case MisuseKind::kReadAfterFree:
      return "read after free";
    case MisuseKind::kOverlappingCopy:
      return "copy of ranges that overlap";
  }
  return "misuse";
}

/// Returns the fault's name, which distinguishes queries (malloc_usable_size) from frees.
[[nodiscard]] constexpr std::string_view name_of(const Misuse& misuse) noexcept {
  const bool is_asked = !misuse.access.function.empty();
  if (is_asked && misuse.kind == MisuseKind::kUnknownPointer) return "use of an unknown address";
  if (is_asked && misuse.kind == MisuseKind::kInteriorPointer) {
    return "use of an address inside a block";
  }
  return name_of(misuse.kind);
}

}  // namespace alloctap
