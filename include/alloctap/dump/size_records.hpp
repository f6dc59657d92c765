/// What is live, by stack and size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include "alloctap/guard/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// `count` live blocks of `size` bytes each.
struct SizeRecord {
  StackId stack = kNoStackId;
  std::uint64_t size = 0;
  std::uint64_t count = 0;
};

/// The sizes of a snapshot's live blocks, where it has its blocks and they are all. Otherwise only
/// the sums of each stack are known: its blocks are told as two sizes, next to each other, that add
/// up to the same number of blocks and of bytes. Memory from the arena.
class SizeRecords {
 public:
  explicit SizeRecords(const Snapshot& snapshot) noexcept {
    if (snapshot.sampling.exact && snapshot.blocks.size() == snapshot.totals.live_allocations) {
      add_blocks(snapshot);
    } else {
      for (const StackSummary& stack : snapshot.stacks) add_sums(stack);
    }
  }

  /// False: the system had no memory for all of them.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// By StackId; of each stack the largest first.
  [[nodiscard]] std::span<const SizeRecord> records() const noexcept {
    return {records_.data(), records_.size()};
  }

 private:
  void add(const SizeRecord& record) noexcept {
    if (record.count > 0) complete_ = records_.push_back(record) && complete_;
  }

  void add_blocks(const Snapshot& snapshot) noexcept {
    if (!records_.reserve(snapshot.blocks.size())) return static_cast<void>(complete_ = false);
    for (const LiveBlock& block : snapshot.blocks) add({block.stack, block.size, 1});
    std::sort(records_.begin(), records_.end(), [](const SizeRecord& a, const SizeRecord& b) {
      return std::tuple(a.stack, b.size) < std::tuple(b.stack, a.size);
    });
    merge_equal();
  }

  void merge_equal() noexcept {
    std::size_t merged = 0;
    for (const SizeRecord& record : records_) {
      const bool same = merged > 0 && records_[merged - 1].stack == record.stack &&
                        records_[merged - 1].size == record.size;
      if (same) {
        ++records_[merged - 1].count;
      } else {
        records_[merged++] = record;
      }
    }
    static_cast<void>(records_.resize(merged));
  }

  void add_sums(const StackSummary& stack) noexcept {
    if (stack.live_allocations == 0) return;
    const std::uint64_t size = stack.live_bytes / stack.live_allocations;
    const std::uint64_t larger = stack.live_bytes % stack.live_allocations;
    add({stack.stack, size + 1, larger});
    add({stack.stack, size, stack.live_allocations - larger});
  }

  ArenaArray<SizeRecord> records_;
  bool complete_ = true;
};

}  // namespace alloctap
