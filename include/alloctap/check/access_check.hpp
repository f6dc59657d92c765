/// Checks whether a read or write stays within one live block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "alloctap/check/block_faults.hpp"
#include "alloctap/check/checked_blocks.hpp"
#include "alloctap/check/found_misuses.hpp"
#include "alloctap/check/misuse.hpp"
#include "alloctap/event/memory_access.hpp"

namespace alloctap {

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

  /// Returns nullopt if the range lies within one live block or touches no known block. Reports
  /// accesses to freed blocks only in quarantine. Later the block's memory may be reused.
  [[nodiscard]] std::optional<AccessFault> find_fault(const MemoryAccess& access) noexcept {
    if (access.bytes == 0) return std::nullopt;
    const std::uintptr_t end = access.address + access.bytes;
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
