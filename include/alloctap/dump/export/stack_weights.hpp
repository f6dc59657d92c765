/// Weights of stacks: one selected number, live blocks by size, live memory by module.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <tuple>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/dumps.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/by_module.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Returns the number of `stack` that `count` selects.
[[nodiscard]] constexpr std::uint64_t count_of(const StackSummary& stack,
                                               StackCount count) noexcept {
  switch (count) {
    case StackCount::kLiveBytes:
      return stack.live_bytes;
    case StackCount::kLiveAllocations:
      return stack.live_allocations;
    case StackCount::kAllocatedBytes:
      return stack.total.allocated_bytes;
    case StackCount::kAllocations:
      return stack.total.allocations;
    case StackCount::kTemporaryAllocations:
      return stack.total.temporary_allocations;
  }
  return 0;
}

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

/// The number and bytes of one stack's live blocks, or of its live mappings.
struct HoldingStack {
  StackId stack = kNoStackId;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  /// The module that the memory is attributed to (`module_of`); nullptr if unknown.
  const Module* module = nullptr;
};

/// The number and bytes of one module's live blocks, or of its live mappings.
struct HoldingModule {
  const Module* module = nullptr;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  /// The index of the module's first stack in `ModuleStacks::stacks()`, and its number of stacks.
  std::size_t first = 0;
  std::size_t stacks = 0;

  /// Returns the module's path, or "[unknown]" for code outside all modules and unknown stacks.
  [[nodiscard]] std::string_view name() const noexcept {
    return module == nullptr ? std::string_view("[unknown]") : module->path;
  }
};

/// Stacks that hold live memory, grouped by module. A module that was unloaded and loaded again
/// counts as two. Uses arena memory. The report must outlive this object.
class ModuleStacks {
 public:
  /// Groups by module `summaries`, the report's sums per stack of either blocks or mappings.
  template <class Summary>
  ModuleStacks(const Report& report, const ArenaArray<Summary>& summaries) noexcept
      : report_(report) {
    for (const Summary& summary : summaries) add(summary);
    sort_by_module();
    sum_up();
    std::sort(modules_.begin(), modules_.end(), [](const HoldingModule& a, const HoldingModule& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.first < b.first;
    });
  }

  /// Returns false if out of memory.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Returns the modules, most bytes first.
  [[nodiscard]] std::span<const HoldingModule> modules() const noexcept {
    return {modules_.data(), modules_.size()};
  }

  /// Returns the stacks of one module, most bytes first.
  [[nodiscard]] std::span<const HoldingStack> stacks_of(
      const HoldingModule& module) const noexcept {
    return stacks().subspan(module.first, module.stacks);
  }

  /// Returns the stacks of all modules, grouped by module.
  [[nodiscard]] std::span<const HoldingStack> stacks() const noexcept {
    return {stacks_.data(), stacks_.size()};
  }

 private:
  static std::uint64_t count(const StackSummary& stack) noexcept { return stack.live_allocations; }
  static std::uint64_t count(const MappingSummary& stack) noexcept { return stack.live_mappings; }

  template <class Summary>
  void add(const Summary& summary) noexcept {
    if (count(summary) == 0) return;
    auto* is_own = &is_runtime_module;
    const Module* module =
        module_of(*report_.snapshot.table, summary.stack, report_.modules, is_own);
    complete_ =
        stacks_.push_back({summary.stack, count(summary), summary.live_bytes, module}) && complete_;
  }

  void sort_by_module() noexcept {
    std::sort(stacks_.begin(), stacks_.end(), [](const HoldingStack& a, const HoldingStack& b) {
      if (a.module != b.module) return std::less<>()(a.module, b.module);
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.stack < b.stack;
    });
  }

  void sum_up() noexcept {
    for (std::size_t i = 0; i < stacks_.size(); ++i) {
      const HoldingStack& stack = stacks_[i];
      if (i == 0 || stack.module != stacks_[i - 1].module) {
        complete_ = modules_.push_back({.module = stack.module, .first = i}) && complete_;
      }
      if (!complete_) return;
      HoldingModule& module = modules_.back();
      module.count += stack.count;
      module.bytes += stack.bytes;
      ++module.stacks;
    }
  }

  const Report& report_;
  ArenaArray<HoldingStack> stacks_;
  ArenaArray<HoldingModule> modules_;
  bool complete_ = true;
};

}  // namespace alloctap
