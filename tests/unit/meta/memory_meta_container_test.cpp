#include "alloctap/meta/memory_meta_container.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "tests/support/starved_arena.hpp"

namespace {

using alloctap::BlockRecord;
using alloctap::InsertOutcome;
using alloctap::MemoryMetaContainer;
using alloctap::testing::StarvedArena;

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

using Container = MemoryMetaContainer<TinyIndex>;

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

std::size_t live_blocks(Container& container) {
  std::size_t blocks = 0;
  container.for_each_live([&](const void*, const BlockRecord&) { ++blocks; });
  return blocks;
}

}  // namespace

TEST_CASE("an allocation that finds no room is counted, dropped, and gone again") {
  const auto container = std::make_unique<Container>();
  container->record_allocation({.pointer = at(0x1000), .record = {.stack = 1, .size = 10}});
  container->record_allocation({.pointer = at(0x2000), .record = {.stack = 2, .size = 100}});
  CHECK(container->totals(2).allocations == 1);
  CHECK(container->totals(2).allocated_bytes == 100);
  CHECK(container->counters().dropped == 1);
  CHECK(container->counters().deallocations == 1);
  CHECK(live_blocks(*container) == 1);

  // Its bytes are live no more: the peak is still that of the moment when both were.
  container->record_deallocation(at(0x1000), false);
  container->record_allocation({.pointer = at(0x3000), .record = {.stack = 3, .size = 105}});
  CHECK(container->counters().peak_live_bytes == 110);
}

TEST_CASE("a record that cannot be put back is dropped and its block counted as gone") {
  const auto container = std::make_unique<Container>();
  container->record_allocation({.pointer = at(0x1000), .record = {.stack = 1, .size = 10}});
  const BlockRecord record = container->take(at(0x1000));
  container->record_allocation({.pointer = at(0x2000), .record = {.stack = 2, .size = 20}});
  container->put_back(at(0x1000), record);
  CHECK(container->counters().dropped == 1);
  CHECK(container->counters().deallocations == 1);
  CHECK(live_blocks(*container) == 1);
}

TEST_CASE("allocations, deallocations and live blocks add up in the middle of a reallocation") {
  const auto container = std::make_unique<Container>();
  container->record_allocation({.pointer = at(0x1000), .record = {.stack = 1, .size = 10}});
  const BlockRecord record = container->take(at(0x1000));
  CHECK(record.size == 10);
  CHECK(container->counters().deallocations == 1);
  CHECK(live_blocks(*container) == 0);
  container->put_back(at(0x1000), record);
  CHECK(container->counters().deallocations == 0);
  CHECK(live_blocks(*container) == 1);
  container->count_reallocated(container->take(at(0x1000)), true);
  CHECK(container->counters().deallocations == 1);
  CHECK(container->totals(1).temporary_allocations == 1);
  CHECK(container->counters().unmatched_frees == 0);
}

TEST_CASE("without memory for its counters an allocation is dropped, but its block is known") {
  const auto container = std::make_unique<Container>();
  std::uint64_t pairs = 0;
  {
    const StarvedArena starved;
    while (container->counters().dropped == 0 && pairs < 10) {
      const auto stack = static_cast<alloctap::StackId>(100'000 * ++pairs);
      container->record_allocation({.pointer = at(0x1000), .record = {.stack = stack, .size = 1}});
      container->record_deallocation(at(0x1000), false);
    }
  }
  CHECK(container->counters().dropped == 1);
  CHECK(container->counters().deallocations == pairs);
  CHECK(container->counters().unmatched_frees == 0);
}
