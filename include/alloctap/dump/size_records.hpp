/// Live blocks by stack and size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// `count` live blocks of `size` bytes each.
struct SizeRecord {
  StackId stack = kNoStackId;
  std::uint64_t size = 0;
  std::uint64_t count = 0;
};

/// Merges adjacent records of equal stack and size.
inline void merge_equal_sizes(ArenaArray<SizeRecord>& records) noexcept {
  std::size_t merged = 0;
  for (const SizeRecord& record : records) {
    const bool same = merged > 0 && records[merged - 1].stack == record.stack &&
                      records[merged - 1].size == record.size;
    if (same) {
      records[merged - 1].count += record.count;
    } else {
      records[merged++] = record;
    }
  }
  static_cast<void>(records.resize(merged));
}

/// The sizes of a snapshot's live blocks, if the snapshot lists all blocks. Otherwise assigns two
/// adjacent sizes to each stack's blocks, so that the stack's numbers of blocks and bytes are
/// right. Uses arena memory.
class SizeRecords {
 public:
  explicit SizeRecords(const Snapshot& snapshot) noexcept
      : exact_(snapshot.sampling.exact &&
               snapshot.blocks.size() == snapshot.totals.live_allocations) {
    if (exact_) {
      add_blocks(snapshot);
    } else {
      for (const StackSummary& stack : snapshot.stacks) add_sums(stack);
    }
  }

  /// Returns whether the sizes are those of real blocks, not derived from sums.
  [[nodiscard]] bool exact() const noexcept { return exact_; }

  /// Returns false if out of memory.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Returns the records in order of StackId. Each stack's largest size comes first.
  [[nodiscard]] std::span<const SizeRecord> records() const noexcept {
    return {records_.data(), records_.size()};
  }

  /// Returns the records of one stack.
  [[nodiscard]] std::span<const SizeRecord> of(StackId stack) const noexcept {
    const auto* first = std::lower_bound(
        records_.begin(), records_.end(), stack,
        [](const SizeRecord& record, StackId wanted) { return record.stack < wanted; });
    const auto* last = std::find_if(
        first, records_.end(), [stack](const SizeRecord& record) { return record.stack != stack; });
    return {first, last};
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
    merge_equal_sizes(records_);
  }

  void add_sums(const StackSummary& stack) noexcept {
    if (stack.live_allocations == 0) return;
    const std::uint64_t size = stack.live_bytes / stack.live_allocations;
    const std::uint64_t larger = stack.live_bytes % stack.live_allocations;
    add({stack.stack, size + 1, larger});
    add({stack.stack, size, stack.live_allocations - larger});
  }

  ArenaArray<SizeRecord> records_;
  bool exact_;
  bool complete_ = true;
};

/// Histogram of block sizes over several stacks. Uses arena memory.
class SizeCounts {
 public:
  /// Returns false if out of memory.
  [[nodiscard]] bool add(std::uint64_t size, std::uint64_t count) noexcept {
    return counts_.push_back({.size = size, .count = count});
  }

  /// Returns the `most` sizes whose blocks have most bytes in total. Call it after the last `add`.
  [[nodiscard]] std::span<const SizeRecord> most_bytes_first(std::size_t most) noexcept {
    std::sort(counts_.begin(), counts_.end(),
              [](const SizeRecord& a, const SizeRecord& b) { return a.size > b.size; });
    merge_equal_sizes(counts_);
    std::sort(counts_.begin(), counts_.end(), [](const SizeRecord& a, const SizeRecord& b) {
      return std::tuple(b.size * b.count, b.size) < std::tuple(a.size * a.count, a.size);
    });
    return {counts_.data(), std::min(most, counts_.size())};
  }

 private:
  ArenaArray<SizeRecord> counts_;
};

}  // namespace alloctap
