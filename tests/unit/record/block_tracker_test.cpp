#include "alloctap/record/block_tracker.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <utility>

#include "alloctap/meta/meta_container.hpp"
#include "tests/support/counted_container.hpp"

namespace {

using alloctap::BlockRecord;
using alloctap::InsertOutcome;
using alloctap::MemoryMetaContainer;
using alloctap::testing::CountedContainer;

/// Has room for one record.
struct TinyIndex {
  InsertOutcome insert(const void* block, const BlockRecord& record) noexcept {
    if (pointer != nullptr && pointer != block) return {.kept = false, .replaced = {}};
    pointer = block;
    return {.kept = true, .replaced = std::exchange(kept, record)};
  }
  BlockRecord take(const void* block) noexcept {
    if (pointer != block) return {};
    pointer = nullptr;
    return std::exchange(kept, {});
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    if (pointer != nullptr) visit(pointer, kept);
  }

  const void* pointer = nullptr;
  BlockRecord kept;
};

using Container = CountedContainer<MemoryMetaContainer<TinyIndex>, struct BlockTrackerTest>;

/// Keeps the block whose free ended a peak.
struct PeakOwner {
  static constexpr bool kKeepsPeak = true;
  static alloctap::ThreadStats* mine() noexcept { return stats; }
  static MemoryMetaContainer<TinyIndex>& meta() noexcept { return container; }
  static alloctap::ThreadStatsTable& threads() noexcept { return table; }
  static void on_peak_passed(const BlockRecord& gone) noexcept { last = gone; }
  static inline alloctap::ThreadStats* stats = nullptr;
  static inline MemoryMetaContainer<TinyIndex> container;
  static inline alloctap::ThreadStatsTable table;
  static inline BlockRecord last;
};

void* record_at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

TEST_CASE("an allocation that finds no room is dropped, and counted as gone again") {
  Container blocks;
  blocks->record_allocation({.pointer = record_at(0x1000), .record = {.stack = 1, .size = 10}});
  blocks->record_allocation({.pointer = record_at(0x2000), .record = {.stack = 2, .size = 100}});
  CHECK(blocks.counters().dropped == 1);
  CHECK(blocks.counters().deallocations == 1);
  CHECK(blocks.live_blocks() == 1);

  // Its bytes are live no more: the peak is still that of the moment when both were.
  blocks->record_deallocation(record_at(0x1000));
  blocks->record_allocation({.pointer = record_at(0x3000), .record = {.stack = 3, .size = 105}});
  CHECK(blocks.threads().live().peak() == 110);
}

TEST_CASE("what is given back is counted by stack, and not where it is put back") {
  Container blocks;
  blocks->record_allocation({.pointer = record_at(0x1000), .record = {.stack = 7, .size = 10}});
  const BlockRecord taken = blocks->take(record_at(0x1000));
  blocks->put_back(record_at(0x1000), taken);
  blocks.stats().freed.for_each([](auto, const auto&) { FAIL("nothing was given back"); });
  blocks->record_deallocation(record_at(0x1000));
  int stacks = 0;
  blocks.stats().freed.for_each([&](alloctap::StackId stack, const auto& freed) {
    ++stacks;
    CHECK(stack == 7);
    CHECK(freed.blocks == 1);
    CHECK(freed.bytes == 10);
  });
  CHECK(stacks == 1);
}

TEST_CASE("the owner is notified of the block whose free ended a peak") {
  using Blocks = alloctap::BlockTracker<MemoryMetaContainer<TinyIndex>, PeakOwner>;
  const auto stats = std::make_unique<alloctap::ThreadStats>();
  PeakOwner::table.join(*stats);
  PeakOwner::stats = stats.get();
  Blocks::record_allocation(
      {.pointer = record_at(0x1000), .record = {.stack = 7, .size = 1'000'000}});
  CHECK(PeakOwner::last.stack == alloctap::kNoStackId);
  Blocks::record_deallocation(record_at(0x1000));
  CHECK(PeakOwner::last.stack == 7);
  CHECK(PeakOwner::last.size == 1'000'000);
  CHECK(PeakOwner::table.live().live() == 0);
}

TEST_CASE("a record that cannot be put back is dropped and its block counted as gone") {
  Container blocks;
  blocks->record_allocation({.pointer = record_at(0x1000), .record = {.stack = 1, .size = 10}});
  const BlockRecord record = blocks->take(record_at(0x1000));
  blocks->record_allocation({.pointer = record_at(0x2000), .record = {.stack = 2, .size = 20}});
  blocks->put_back(record_at(0x1000), record);
  CHECK(blocks.counters().dropped == 1);
  CHECK(blocks.counters().deallocations == 1);
  CHECK(blocks.live_blocks() == 1);
}

TEST_CASE("deallocations and live blocks add up in the middle of a reallocation") {
  Container blocks;
  blocks->record_allocation({.pointer = record_at(0x1000), .record = {.stack = 1, .size = 10}});
  const BlockRecord record = blocks->take(record_at(0x1000));
  CHECK(record.size == 10);
  CHECK(blocks.counters().deallocations == 1);
  CHECK(blocks.live_blocks() == 0);
  blocks->put_back(record_at(0x1000), record);
  CHECK(blocks.counters().deallocations == 0);
  CHECK(blocks.live_blocks() == 1);
  CHECK(blocks->take(record_at(0x1000)).size == 10);
  CHECK(blocks.counters().deallocations == 1);
  CHECK(blocks.counters().unmatched_frees == 0);
}

TEST_CASE("without totals every event is applied, and dropped from the counts") {
  Container blocks;
  blocks->record_allocation({.pointer = record_at(0x1000), .record = {.stack = 1, .size = 10}});
  blocks.lose_stats();
  blocks->record_deallocation(record_at(0x1000));
  CHECK(blocks.live_blocks() == 0);
  blocks->record_allocation({.pointer = record_at(0x2000), .record = {.stack = 1, .size = 10}});
  CHECK(blocks.live_blocks() == 1);
  blocks->put_back(record_at(0x2000), blocks->take(record_at(0x2000)));
  CHECK(blocks.live_blocks() == 1);
  blocks->count_pair({.stack = 1, .size = 10});
  CHECK(blocks.counters().dropped == 5);
  CHECK(blocks.counters().deallocations == 0);
  CHECK(blocks.counters().unmatched_frees == 0);
}
