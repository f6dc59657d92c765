/// What a program did wrong with a block.
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
  /// The block was given back before.
  kDoubleFree,
  /// No allocation returned that address.
  kUnknownPointer,
  /// The address lies inside a live block, behind its begin.
  kInteriorPointer,
  kKindMismatch,
  kWrongSize,
  kWrongAlignment,
  /// Given back to another heap than it came from.
  kWrongHeap,
  kWriteBefore,
  kWriteBehind,
  kWriteAfterFree,
  kReadBefore,
  kReadBehind,
  kReadAfterFree,
  /// A copy between ranges that have bytes in common, by a function that must not be given such.
  kOverlappingCopy,
};
inline constexpr std::size_t kMisuseKinds = 14;

/// A call that a block went through.
struct BlockCall {
  StackId stack = kNoStackId;
  os::ThreadId thread = 0;
  /// In nanoseconds of `os::coarse_monotonic_ns`.
  std::int64_t time_ns = 0;
};

/// What is known of a block.
struct BlockHistory {
  /// False: nothing is, and all else is meaningless.
  bool known = false;
  bool freed = false;
  std::uintptr_t address = 0;
  /// In bytes, as the program asked for it.
  std::uint64_t size = 0;
  /// In bytes; 0 where the call named none.
  std::size_t alignment = 0;
  AllocationKind kind = AllocationKind::kMalloc;
  DeallocationKind freed_by = DeallocationKind::kFree;
  BlockCall allocated;
  BlockCall gone;
  [[no_unique_address]] os::HeapHandle heap{};
};

/// A fault, as it was found.
struct Misuse {
  MisuseKind kind = MisuseKind::kDoubleFree;
  /// The call in which it was found: for what was written, not the one that wrote.
  BlockCall found;
  /// That call, where it gives a block back.
  DeallocationKind call = DeallocationKind::kFree;
  /// Whether it was found in a look at all blocks, and in no call of the program's.
  bool by_sweep = false;
  /// What the program passed.
  std::uintptr_t address = 0;
  /// In bytes, as the call stated them; 0 where it did not.
  std::uint64_t stated_size = 0;
  std::size_t stated_alignment = 0;
  /// The heap that the call named.
  [[no_unique_address]] os::HeapHandle heap{};
  BlockHistory block;
  /// Of writes that were found by what they left.
  ChangedBytes changed;
  /// Of reads and writes that were seen when they came; of a copy, what it writes.
  MemoryAccess access;
  /// Of a copy: where it reads.
  std::uintptr_t source = 0;
};

/// What reports call it.
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

/// The same for `misuse`: an address that is no block's may have been asked about, not given back.
[[nodiscard]] constexpr std::string_view name_of(const Misuse& misuse) noexcept {
  const bool is_asked = !misuse.access.function.empty();
  if (is_asked && misuse.kind == MisuseKind::kUnknownPointer) return "use of an unknown address";
  if (is_asked && misuse.kind == MisuseKind::kInteriorPointer) {
    return "use of an address inside a block";
  }
  return name_of(misuse.kind);
}

}  // namespace alloctap
