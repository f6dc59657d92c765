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
  /// No allocation returned that address.
  kUnknownPointer,
  /// The address lies inside a live block, behind its begin.
  kInteriorPointer,
  kKindMismatch,
  kWrongSize,
  kWrongAlignment,
  /// The block was freed to another heap than it came from.
  kWrongHeap,
  kWriteBefore,
  kWriteBehind,
  kWriteAfterFree,
  kReadBefore,
  kReadBehind,
  kReadAfterFree,
  /// A copy such as memcpy between overlapping ranges.
  kOverlappingCopy,
};
inline constexpr std::size_t kMisuseKinds = 14;

/// Stack, thread and time of an allocation or deallocation call.
struct BlockCall {
  StackId stack = kNoStackId;
  os::ThreadId thread = 0;
  /// Nanoseconds of `os::coarse_monotonic_ns`.
  std::int64_t time_ns = 0;
};

/// What is known of a block and its calls.
struct BlockHistory {
  /// If false, the other members are meaningless.
  bool known = false;
  bool freed = false;
  std::uintptr_t address = 0;
  /// Requested bytes.
  std::uint64_t size = 0;
  /// Bytes; 0 if the call named no alignment.
  std::size_t alignment = 0;
  AllocationKind kind = AllocationKind::kMalloc;
  DeallocationKind freed_by = DeallocationKind::kFree;
  BlockCall allocated;
  BlockCall gone;
  [[no_unique_address]] os::HeapHandle heap{};
};

/// A fault as it was found.
struct Misuse {
  MisuseKind kind = MisuseKind::kDoubleFree;
  /// The call during which it was found. For overwrites that is not the call that wrote.
  BlockCall found;
  /// The kind of that call if it is a deallocation.
  DeallocationKind call = DeallocationKind::kFree;
  /// Whether a sweep over all blocks found it, rather than a call of the program.
  bool by_sweep = false;
  /// The address that the program passed.
  std::uintptr_t address = 0;
  /// Bytes that the call stated; 0 if it stated none.
  std::uint64_t stated_size = 0;
  std::size_t stated_alignment = 0;
  /// The heap that the call named.
  [[no_unique_address]] os::HeapHandle heap{};
  BlockHistory block;
  /// Changed bytes, for overwrites that were found later.
  ChangedBytes changed;
  /// The access, if it was detected when it happened; for a copy, the write.
  MemoryAccess access;
  /// The source address of a copy.
  std::uintptr_t source = 0;
};

/// Returns the name of `kind` in reports.
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

/// Returns the name of `misuse`, which distinguishes queries such as malloc_usable_size from frees.
[[nodiscard]] constexpr std::string_view name_of(const Misuse& misuse) noexcept {
  const bool is_asked = !misuse.access.function.empty();
  if (is_asked && misuse.kind == MisuseKind::kUnknownPointer) return "use of an unknown address";
  if (is_asked && misuse.kind == MisuseKind::kInteriorPointer) {
    return "use of an address inside a block";
  }
  return name_of(misuse.kind);
}

}  // namespace alloctap
