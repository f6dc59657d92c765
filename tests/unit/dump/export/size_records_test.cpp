#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "alloctap/dump/export/stack_weights.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::LiveBlock;
using alloctap::SizeRecord;
using alloctap::SizeRecords;
using alloctap::Snapshot;
using RecordNumbers = std::vector<std::vector<std::uint64_t>>;

RecordNumbers numbers_of(const SizeRecords& sizes) {
  RecordNumbers numbers;
  for (const SizeRecord& record : sizes.records()) {
    numbers.push_back({record.stack, record.size, record.count});
  }
  return numbers;
}

void add_blocks(Snapshot& snapshot) {
  std::uintptr_t address = 0x1000;
  for (const auto& [stack, size] : std::vector<std::pair<alloctap::StackId, std::uint64_t>>{
           {3, 10}, {5, 7}, {3, 20}, {3, 10}, {5, 7}, {3, 10}}) {
    static_cast<void>(snapshot.blocks.push_back({address += 16, size, stack}));
  }
  snapshot.totals.live_allocations = 6;
}

}  // namespace

TEST_CASE("blocks of one stack and size are one record") {
  Snapshot snapshot;
  add_blocks(snapshot);
  CHECK(numbers_of(SizeRecords(snapshot)) == RecordNumbers{{3, 20, 1}, {3, 10, 3}, {5, 7, 2}});
}

TEST_CASE("blocks of one size stay apart by their stacks") {
  Snapshot snapshot;
  for (const alloctap::StackId stack : {3U, 5U, 5U}) {
    static_cast<void>(snapshot.blocks.push_back({0x1000, 10, stack}));
  }
  snapshot.totals.live_allocations = 3;
  CHECK(numbers_of(SizeRecords(snapshot)) == RecordNumbers{{3, 10, 1}, {5, 10, 2}});
}

TEST_CASE("without blocks, two sizes add up to the sums of a stack") {
  Snapshot snapshot;
  static_cast<void>(snapshot.stacks.push_back({3, {}, 4, 50}));
  static_cast<void>(snapshot.stacks.push_back({4, {}, 0, 0}));
  static_cast<void>(snapshot.stacks.push_back({5, {}, 2, 14}));
  static_cast<void>(snapshot.stacks.push_back({6, {}, 3, 0}));
  snapshot.totals.live_allocations = 9;
  CHECK(numbers_of(SizeRecords(snapshot)) ==
        RecordNumbers{{3, 13, 2}, {3, 12, 2}, {5, 7, 2}, {6, 0, 3}});
}

TEST_CASE("samples are no blocks to count") {
  Snapshot snapshot;
  add_blocks(snapshot);
  snapshot.sampling.exact = false;
  static_cast<void>(snapshot.stacks.push_back({3, {}, 600, 6000}));
  CHECK(numbers_of(SizeRecords(snapshot)) == RecordNumbers{{3, 10, 600}});
}

TEST_CASE("where memory ends, records say that they are not whole") {
  Snapshot snapshot;
  static_cast<void>(snapshot.stacks.push_back({3, {}, 4, 50}));
  snapshot.totals.live_allocations = 4;
  bool complete = true;
  {
    const alloctap::testing::StarvedArena starved;
    complete = SizeRecords(snapshot).complete();
  }
  CHECK_FALSE(complete);
}
