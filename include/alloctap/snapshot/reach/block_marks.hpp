/// The mark phase of the leak scan.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/reach/block_index.hpp"

namespace alloctap {

/// The memory that a leak scan reads. `visit_words(range, visit)` calls `visit(std::span<const
/// std::uintptr_t>)` with the aligned words in `range`, in one or more pieces. Unreadable memory is
/// skipped. `visit` must not call `visit_words`.
template <class M>
concept MemoryImage = requires(M& memory, AddressRange range) {
  memory.visit_words(range, [](std::span<const std::uintptr_t>) {});
};

/// The state of a block in the mark phase.
enum class BlockMark : std::uint8_t {
  kUnknown,
  kReachable,
  /// The block is not reachable, and another unreachable block points at it.
  kPointedAt,
  kDefinite,
  kIndirect,
};

/// A conservative mark phase in three steps: `add_root` marks blocks that roots point at. `spread`
/// marks blocks reachable from marked blocks. `part_unreachable` divides all other blocks into
/// definitely and indirectly lost ones. A word points at a block if it is the address of one of the
/// block's bytes. As in LeakSanitizer, the end address does not count. Pointers from a block to
/// itself are ignored.
///
/// Uses a work list instead of recursion, because chains of pointers may be long. Marks and work
/// list take 5 bytes per block in the arena. Not thread-safe.
template <MemoryImage Memory>
class BlockMarks {
 public:
  /// Stores references to `index` and `memory`.
  BlockMarks(const BlockIndex& index, Memory& memory) noexcept : index_(index), memory_(memory) {}

  /// Allocates the marks. Call it first. Returns false if out of memory.
  [[nodiscard]] bool prepare() noexcept {
    return marks_.resize(index_.blocks().size()) && waiting_.reserve(index_.blocks().size());
  }

  void add_root(AddressRange range) {
    memory_.visit_words(range, [this](Words words) { add_root_words(words); });
  }

  void add_root_words(std::span<const std::uintptr_t> words) {
    for (const std::uintptr_t word : words) {
      const std::uint32_t block = index_.find(word);
      if (block != BlockIndex::kNone) mark(block, BlockMark::kUnknown, BlockMark::kReachable);
    }
  }

  /// Marks all blocks reachable from marked blocks.
  void spread() { spread(BlockMark::kUnknown, BlockMark::kReachable); }

  void part_unreachable() {
    note_pointed_at();
    for (std::uint32_t block = 0; block < marks_.size(); ++block) {
      if (marks_[block] != BlockMark::kUnknown) continue;
      mark(block, BlockMark::kUnknown, BlockMark::kDefinite);
      spread(BlockMark::kPointedAt, BlockMark::kIndirect);
    }
    // The remaining blocks are in cycles or reachable only from cycles.
    for (std::uint32_t block = 0; block < marks_.size(); ++block) {
      if (marks_[block] != BlockMark::kPointedAt) continue;
      mark(block, BlockMark::kPointedAt, BlockMark::kDefinite);
      spread_from_circle(block);
    }
  }

  [[nodiscard]] BlockMark of(std::size_t block) const noexcept { return marks_[block]; }

 private:
  using Words = std::span<const std::uintptr_t>;

  void mark(std::uint32_t block, BlockMark from, BlockMark to) noexcept {
    if (marks_[block] != from) return;
    marks_[block] = to;
    static_cast<void>(waiting_.push_back(block));
  }

  /// Calls `visit(target)` for each other block that `block` points at.
  template <class Visit>
  void for_each_target(std::uint32_t block, Visit&& visit) {
    const ScannedBlock& scanned = index_.blocks()[block];
    memory_.visit_words({scanned.start, scanned.start + scanned.size}, [&](Words words) {
      for (const std::uintptr_t word : words) {
        const std::uint32_t target = index_.find(word);
        if (target != BlockIndex::kNone && target != block) visit(target);
      }
    });
  }

  std::uint32_t take_waiting() noexcept {
    const std::uint32_t block = waiting_.back();
    static_cast<void>(waiting_.resize(waiting_.size() - 1));
    return block;
  }

  void spread(BlockMark from, BlockMark to) {
    while (!waiting_.empty()) {
      for_each_target(take_waiting(), [&](std::uint32_t target) { mark(target, from, to); });
    }
  }

  void note_pointed_at() {
    for (std::uint32_t block = 0; block < marks_.size(); ++block) {
      if (marks_[block] == BlockMark::kReachable) continue;
      for_each_target(block, [this](std::uint32_t target) {
        if (marks_[target] == BlockMark::kUnknown) marks_[target] = BlockMark::kPointedAt;
      });
    }
  }

  /// Marks the blocks reachable from `first`, a block in a cycle, as indirectly lost. These may
  /// include the definitely lost block of a cycle visited earlier, which becomes indirectly lost.
  void spread_from_circle(std::uint32_t first) {
    while (!waiting_.empty()) {
      for_each_target(take_waiting(), [&](std::uint32_t target) {
        mark(target, BlockMark::kPointedAt, BlockMark::kIndirect);
        if (marks_[target] == BlockMark::kDefinite && target != first) {
          marks_[target] = BlockMark::kIndirect;
        }
      });
    }
  }

  const BlockIndex& index_;
  Memory& memory_;
  ArenaArray<BlockMark> marks_;
  ArenaArray<std::uint32_t> waiting_;
};

}  // namespace alloctap
