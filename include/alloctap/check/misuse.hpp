/// A detected misuse of a block: its kind, history, changed bytes and stacks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/block_checks.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/os/heap_handle.hpp"
#include "alloctap/os/thread.hpp"

namespace alloctap {

/// Fill values. They equal those of Android's malloc_debug.
inline constexpr std::uint8_t kFrontGuardByte = 0xAA;
inline constexpr std::uint8_t kRearGuardByte = 0xBB;
inline constexpr std::uint8_t kAllocatedByte = 0xEB;
inline constexpr std::uint8_t kFreedByte = 0xEF;

/// The bytes of a filled range that differ from the fill value.
struct ChangedBytes {
  static constexpr std::size_t kMaxShown = 16;

  std::size_t count = 0;
  /// Offsets of the first and the last changed byte from the program's pointer.
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::uint8_t expected = 0;
  /// A copy of the bytes from the first changed byte on; the first `shown` elements are valid.
  std::array<std::uint8_t, kMaxShown> found{};
  std::uint8_t shown = 0;

  /// Merges the changes found at higher addresses of the block into this object.
  void add(const ChangedBytes& later) noexcept {
    if (count == 0) {
      *this = later;
    } else if (later.count != 0) {
      last = later.last;
      count += later.count;
    }
  }
};

/// Returns the bytes of `[begin, begin + bytes)` that differ from `expected`. Offsets in the result
/// are relative to `block`. Runs inside malloc. Other threads may write the range concurrently.
[[nodiscard]] inline ChangedBytes find_changes(const void* begin, std::size_t bytes,
                                               std::uint8_t expected, const void* block) noexcept {
  ChangedBytes changes{.expected = expected};
  const auto* const at = static_cast<const std::uint8_t*>(begin);
  // If the range equals itself shifted by one byte, all bytes equal the first byte.
  if (bytes == 0 || (at[0] == expected && std::memcmp(at, at + 1, bytes - 1) == 0)) return changes;
  const std::int64_t offset = at - static_cast<const std::uint8_t*>(block);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (at[i] == expected) continue;
    const auto place = offset + static_cast<std::int64_t>(i);
    if (changes.count == 0) {
      changes.first = place;
      changes.shown = static_cast<std::uint8_t>(std::min(bytes - i, ChangedBytes::kMaxShown));
      std::memcpy(changes.found.data(), at + i, changes.shown);
    }
    changes.last = place;
    ++changes.count;
  }
  return changes;
}

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

/// A bit set of `MisuseKind` values.
class MisuseKinds {
 public:
  constexpr MisuseKinds() noexcept = default;
  constexpr MisuseKinds(std::initializer_list<MisuseKind> kinds) noexcept {
    for (const MisuseKind kind : kinds) add(kind);
  }

  [[nodiscard]] static constexpr MisuseKinds all() noexcept {
    MisuseKinds kinds;
    kinds.bits_ = (std::uint32_t{1} << kMisuseKinds) - 1;
    return kinds;
  }

  constexpr void add(MisuseKind kind) noexcept { bits_ |= bit_of(kind); }

  [[nodiscard]] constexpr bool contains(MisuseKind kind) const noexcept {
    return (bits_ & bit_of(kind)) != 0;
  }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }

  bool operator==(const MisuseKinds&) const = default;

 private:
  static constexpr std::uint32_t bit_of(MisuseKind kind) noexcept {
    return std::uint32_t{1} << static_cast<unsigned>(kind);
  }

  std::uint32_t bits_ = 0;
};

/// Calls `visit(StackId)` for the stack of the detecting call. Then visits the stacks of the
/// block's allocation and free, if they are known.
template <class Visit>
void for_each_stack(const Misuse& misuse, Visit&& visit) {
  if (!misuse.by_sweep) visit(misuse.found.stack);
  if (!misuse.block.known) return;
  visit(misuse.block.allocated.stack);
  if (misuse.block.freed) visit(misuse.block.gone.stack);
}

}  // namespace alloctap
