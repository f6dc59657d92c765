/// Detects corrupted blocks, mismatched frees and invalid accesses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/checked_block.hpp"
#include "alloctap/check/checked_blocks.hpp"
#include "alloctap/check/misuse.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/block_checks.hpp"
#include "alloctap/os/memory_faults.hpp"

namespace alloctap {

/// Finds and logs changed red zones and fills, mismatched frees and invalid accesses. Also logs the
/// double frees and unknown pointers that `BlockChecker` finds. `call` is the program's call that
/// revealed the fault; without a stack, it means a `BlockSweep`. Logging functions return the
/// result of `MisuseLog::add`. Thread-safe; runs inside malloc. Constant-initialized, never
/// destroyed.
class BlockFaults {
 public:
  [[nodiscard]] const MisuseLog& log() const noexcept { return log_; }

  /// Logs a fault of the deallocation `gone`.
  const Misuse* add(MisuseKind kind, const DeallocationEvent& gone, const BlockCall& call,
                    const BlockHistory& story) noexcept {
    return log_.add(make(kind, gone, call, story));
  }

  /// Logs an access that hit a guard page. `story` is the history of the nearest block.
  const Misuse* add_refused(const os::MemoryFault& fault, const BlockCall& call,
                            const BlockHistory& story) noexcept;

  /// Logs a call of the size query `function` with an address at which no live block begins.
  const Misuse* add_question(MisuseKind kind, const void* pointer, std::string_view function,
                             const BlockCall& call, const BlockHistory& story) noexcept;

  /// Logs an invalid read or write; `source` is the source address if the access is a copy.
  const Misuse* add_access(MisuseKind kind, const MemoryAccess& access, const BlockCall& call,
                           const BlockHistory& story, std::uintptr_t source = 0) noexcept;

  /// Logs a deallocation call whose kind, size, alignment or heap does not match the allocation.
  void check_kind(const DeallocationEvent& gone, const BlockCall& call, const BlockHistory& story,
                  FoundMisuses& found) noexcept;

  /// Logs overwritten red zones of a block that is live or being freed. Returns false if all red
  /// zones are intact.
  bool check_guards(const CheckSettings& settings, const CheckedBlock& block,
                    const DeallocationEvent& gone, const BlockCall& call,
                    FoundMisuses& found) noexcept;

  /// Logs writes to a quarantined block. Returns false if the block is unchanged.
  bool check_freed(const CheckSettings& settings, const CheckedBlock& block, const BlockCall& call,
                   FoundMisuses& found) noexcept;

 private:
  /// Returns whether the access was a write. Returns false if the processor does not report this,
  /// so that the access is reported as a read.
  static bool writes(const os::MemoryFault& fault) noexcept {
    return fault.access == os::FaultAccess::kWrite;
  }

  static MisuseKind kind_of(const os::MemoryFault& fault, const BlockHistory& story) noexcept;

  static Misuse make(MisuseKind kind, const DeallocationEvent& gone, const BlockCall& call,
                     const BlockHistory& story) noexcept;

  /// Not inlined, because a `Misuse` would be the largest object in the stack frame of a free.
  void add_changes(MisuseKind kind, const ChangedBytes& changed, const DeallocationEvent& gone,
                   const BlockCall& call, const BlockHistory& story, FoundMisuses& found) noexcept;

  MisuseLog log_;
};

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

/// The kind of an invalid access, and the number of the block that the access concerns.
struct AccessFault {
  MisuseKind kind = MisuseKind::kReadBehind;
  BlockPool::Number block = BlockPool::kNone;
};

/// Checks memory accesses against the tracked blocks and logs faults. `expand` is the number of
/// bytes behind each block that the program may use too. Thread-safe; runs inside malloc.
class AccessCheck {
 public:
  AccessCheck(CheckedBlocks& blocks, BlockFaults& faults, std::size_t expand) noexcept
      : blocks_(blocks), faults_(faults), expand_(expand) {}

  /// Returns nullopt if the range lies within one live block or touches no known block. Finds an
  /// access to a freed block only in quarantine, because the block's memory may be reused later.
  [[nodiscard]] std::optional<AccessFault> find_fault(const MemoryAccess& access) noexcept {
    if (access.bytes == 0) return std::nullopt;
    // A negative length converts to a huge one, so clamps the range to the address space.
    const std::uintptr_t end =
        access.address + std::min<std::uintptr_t>(access.bytes, UINTPTR_MAX - access.address);
    const Number number = blocks_.around(reinterpret_cast<const void*>(access.address));
    if (number == BlockPool::kNone || !is_ours(number)) return find_block_ahead(access, end);
    const bool writes = access.writes;
    if (!is_live(number)) {
      return AccessFault{writes ? MisuseKind::kWriteAfterFree : MisuseKind::kReadAfterFree, number};
    }
    if (access.address < begin_of(number)) {
      return AccessFault{writes ? MisuseKind::kWriteBefore : MisuseKind::kReadBefore, number};
    }
    if (end > begin_of(number) + blocks_[number].size + expand_) {
      return AccessFault{writes ? MisuseKind::kWriteBehind : MisuseKind::kReadBehind, number};
    }
    return std::nullopt;
  }

  /// Returns the bytes from `pointer` to the end of the block that contains it. Returns `SIZE_MAX`
  /// if no block contains `pointer`, and 0 if `pointer` lies in a red zone.
  [[nodiscard]] std::size_t room_at(const void* pointer) noexcept {
    const Number number = blocks_.around(pointer);
    if (number == BlockPool::kNone || !is_ours(number)) return SIZE_MAX;
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const std::uintptr_t end = begin_of(number) + blocks_[number].size + expand_;
    return address < begin_of(number) || address > end ? 0 : end - address;
  }

  /// Logs a fault that `find_fault` returned.
  void add(const AccessFault& fault, const MemoryAccess& access, const BlockCall& call,
           FoundMisuses& found) noexcept {
    found.add(faults_.add_access(fault.kind, access, call, blocks_[fault.block].story()));
  }

  /// Logs a copy with overlapping ranges; `written` is the destination.
  void add_overlap(const MemoryAccess& written, std::uintptr_t source, const BlockCall& call,
                   FoundMisuses& found) noexcept {
    const BlockHistory story = blocks_.story_around(reinterpret_cast<const void*>(written.address));
    found.add(faults_.add_access(MisuseKind::kOverlappingCopy, written, call, story, source));
  }

 private:
  using Number = BlockPool::Number;
  using State = CheckedBlock::State;

  std::uintptr_t begin_of(Number number) noexcept {
    return reinterpret_cast<std::uintptr_t>(blocks_[number].begin());
  }
  bool is_live(Number number) noexcept {
    return blocks_[number].state.load(std::memory_order_acquire) == State::kLive;
  }
  bool is_ours(Number number) noexcept {
    return is_live(number) || blocks_[number].kept.load(std::memory_order_relaxed);
  }

  /// Returns a fault if the range begins outside all blocks but ends in a live block.
  std::optional<AccessFault> find_block_ahead(const MemoryAccess& access,
                                              std::uintptr_t end) noexcept {
    const Number number = blocks_.first_between(access.address, end);
    if (number == BlockPool::kNone || !is_live(number)) return std::nullopt;
    return AccessFault{access.writes ? MisuseKind::kWriteBefore : MisuseKind::kReadBefore, number};
  }

  CheckedBlocks& blocks_;
  BlockFaults& faults_;
  std::size_t expand_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/block_faults.hpp"
#endif
