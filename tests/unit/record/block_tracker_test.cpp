#include "alloctap/record/block_tracker.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <utility>

#include "alloctap/meta/memory_meta_container.hpp"
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

using Books = CountedContainer<MemoryMetaContainer<TinyIndex>, struct BookkeeperTest>;

/// Keeps what it is told of the end of a peak.
struct FallTotals {
  static alloctap::ThreadStats* mine() noexcept { return mine_; }
  static MemoryMetaContainer<TinyIndex>& meta() noexcept { return meta_; }
  static void on_peak_passed(const BlockRecord& gone) noexcept { told = gone; }
  static inline alloctap::ThreadStats* mine_ = nullptr;
  static inline MemoryMetaContainer<TinyIndex> meta_;
  static inline BlockRecord told;
};

void* record_at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

TEST_CASE("an allocation that finds no room is dropped, and counted as gone again") {
  Books books;
  books->record_allocation({.pointer = record_at(0x1000), .record = {.stack = 1, .size = 10}});
  books->record_allocation({.pointer = record_at(0x2000), .record = {.stack = 2, .size = 100}});
  CHECK(books.counters().dropped == 1);
  CHECK(books.counters().deallocations == 1);
  CHECK(books.live_blocks() == 1);

  // Its bytes are live no more: the peak is still that of the moment when both were.
  books->record_deallocation(record_at(0x1000));
  books->record_allocation({.pointer = record_at(0x3000), .record = {.stack = 3, .size = 105}});
  CHECK(books->peak_live_bytes() == 110);
}

TEST_CASE("what is given back is counted by stack, and not where it is put back") {
  Books books;
  books->record_allocation({.pointer = record_at(0x1000), .record = {.stack = 7, .size = 10}});
  const BlockRecord taken = books->take(record_at(0x1000));
  books->put_back(record_at(0x1000), taken);
  books.totals().freed.for_each([](auto, const auto&) { FAIL("nothing was given back"); });
  books->record_deallocation(record_at(0x1000));
  int stacks = 0;
  books.totals().freed.for_each([&](alloctap::StackId stack, const auto& freed) {
    ++stacks;
    CHECK(stack == 7);
    CHECK(freed.blocks == 1);
    CHECK(freed.bytes == 10);
  });
  CHECK(stacks == 1);
}

TEST_CASE("whoever keeps pictures of the peak is told of the block whose free ended it") {
  alloctap::BlockTracker<MemoryMetaContainer<TinyIndex>, FallTotals> books;
  const auto totals = std::make_unique<alloctap::ThreadStats>();
  books.join(*totals);
  FallTotals::mine_ = totals.get();
  books.record_allocation(
      {.pointer = record_at(0x1000), .record = {.stack = 7, .size = 1'000'000}});
  CHECK(FallTotals::told.stack == alloctap::kNoStackId);
  books.record_deallocation(record_at(0x1000));
  CHECK(FallTotals::told.stack == 7);
  CHECK(FallTotals::told.size == 1'000'000);
  CHECK(books.live_bytes() == 0);
}

TEST_CASE("a record that cannot be put back is dropped and its block counted as gone") {
  Books books;
  books->record_allocation({.pointer = record_at(0x1000), .record = {.stack = 1, .size = 10}});
  const BlockRecord record = books->take(record_at(0x1000));
  books->record_allocation({.pointer = record_at(0x2000), .record = {.stack = 2, .size = 20}});
  books->put_back(record_at(0x1000), record);
  CHECK(books.counters().dropped == 1);
  CHECK(books.counters().deallocations == 1);
  CHECK(books.live_blocks() == 1);
}

TEST_CASE("deallocations and live blocks add up in the middle of a reallocation") {
  Books books;
  books->record_allocation({.pointer = record_at(0x1000), .record = {.stack = 1, .size = 10}});
  const BlockRecord record = books->take(record_at(0x1000));
  CHECK(record.size == 10);
  CHECK(books.counters().deallocations == 1);
  CHECK(books.live_blocks() == 0);
  books->put_back(record_at(0x1000), record);
  CHECK(books.counters().deallocations == 0);
  CHECK(books.live_blocks() == 1);
  CHECK(books->take(record_at(0x1000)).size == 10);
  CHECK(books.counters().deallocations == 1);
  CHECK(books.counters().unmatched_frees == 0);
}

TEST_CASE("without totals every event is applied, and dropped from the counts") {
  Books books;
  books->record_allocation({.pointer = record_at(0x1000), .record = {.stack = 1, .size = 10}});
  books.lose_totals();
  books->record_deallocation(record_at(0x1000));
  CHECK(books.live_blocks() == 0);
  books->record_allocation({.pointer = record_at(0x2000), .record = {.stack = 1, .size = 10}});
  CHECK(books.live_blocks() == 1);
  books->put_back(record_at(0x2000), books->take(record_at(0x2000)));
  CHECK(books.live_blocks() == 1);
  books->count_pair({.stack = 1, .size = 10});
  CHECK(books.counters().dropped == 5);
  CHECK(books.counters().deallocations == 0);
  CHECK(books.counters().unmatched_frees == 0);
}
