/// The container that trackers use unless told otherwise.
#pragma once

#include <atomic>

#include "alloctap/meta/meta_container.hpp"
#include "alloctap/meta/pointer_index.hpp"

namespace alloctap {

/// A pointer index, totals per stack and mappings. Constant-initialized, never destroyed.
template <PointerIndex Index>
class MemoryMetaContainer {
 public:
  constexpr MemoryMetaContainer() noexcept = default;

  void record_allocation(const RecordedAllocation& allocation) noexcept {
    const BlockRecord& record = allocation.record;
    count_allocation(record);
    const InsertOutcome outcome = index_.insert(allocation.pointer, record);
    if (outcome.replaced.stack != kNoStackId) {
      add(unseen_frees_);
      count_gone(outcome.replaced, false);
    }
    if (!outcome.kept) {
      add(dropped_);
      count_gone(record, false);
    }
  }

  void record_deallocation(void* pointer, bool temporary) noexcept {
    const BlockRecord record = index_.take(pointer);
    if (record.stack == kNoStackId) return add(unmatched_frees_);
    count_gone(record, temporary);
  }

  /// An unknown pointer counts as an unmatched free here already.
  BlockRecord take(void* pointer) noexcept {
    const BlockRecord record = index_.take(pointer);
    if (record.stack == kNoStackId) {
      add(unmatched_frees_);
    } else {
      count_gone(record, false);
    }
    return record;
  }

  void put_back(void* pointer, const BlockRecord& record) noexcept {
    if (!index_.insert(pointer, record).kept) return add(dropped_);
    deallocations_.fetch_sub(1, std::memory_order_relaxed);
    live_bytes_.fetch_add(record.size, std::memory_order_relaxed);
  }

  void count_reallocated(const BlockRecord& record, bool temporary) noexcept {
    if (temporary) totals_.count_temporary(record.stack);
  }

  void count_pair(const BlockRecord& record, bool temporary) noexcept {
    count_allocation(record);
    count_gone(record, temporary);
  }

  MappingContainer& mappings() noexcept { return mappings_; }

  ContainerCounters counters() noexcept {
    return {.deallocations = get(deallocations_),
            .unmatched_frees = get(unmatched_frees_),
            .dropped = get(dropped_),
            .unseen_frees = get(unseen_frees_),
            .peak_live_bytes = get(peak_live_bytes_)};
  }

  AllocationTotals totals(StackId stack) noexcept { return totals_.of(stack); }

  template <class Visit>
  void for_each_live(Visit&& visit) {
    index_.for_each(visit);
  }

 private:
  using Counter = std::atomic<std::uint64_t>;

  static void add(Counter& counter) noexcept { counter.fetch_add(1, std::memory_order_relaxed); }
  static std::uint64_t get(const Counter& counter) noexcept {
    return counter.load(std::memory_order_relaxed);
  }

  void count_allocation(const BlockRecord& record) noexcept {
    if (!totals_.count_allocation(record.stack, record.size)) add(dropped_);
    const std::uint64_t live =
        live_bytes_.fetch_add(record.size, std::memory_order_relaxed) + record.size;
    std::uint64_t peak = get(peak_live_bytes_);
    while (live > peak && !peak_live_bytes_.compare_exchange_weak(peak, live)) {
    }
  }

  void count_gone(const BlockRecord& record, bool temporary) noexcept {
    add(deallocations_);
    live_bytes_.fetch_sub(record.size, std::memory_order_relaxed);
    if (temporary) totals_.count_temporary(record.stack);
  }

  Index index_;
  StackTotals totals_;
  MappingContainer mappings_;
  Counter deallocations_{0};
  Counter unmatched_frees_{0};
  Counter dropped_{0};
  Counter unseen_frees_{0};
  Counter live_bytes_{0};
  Counter peak_live_bytes_{0};
};

}  // namespace alloctap
