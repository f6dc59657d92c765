#include "alloctap/snapshot/take_snapshot.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <vector>

#include "alloctap/meta/meta_container.hpp"
#include "alloctap/meta/shadow_index.hpp"
#include "alloctap/record/block_tracker.hpp"
#include "alloctap/record/peak_tracker.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/record/timeline.hpp"
#include "alloctap/sample/sampling_policy.hpp"
#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::Arena;
using alloctap::kUnknownStack;
using alloctap::Snapshot;
using alloctap::SnapshotBuilder;
using alloctap::StackId;
using alloctap::StackSummary;
using alloctap::StackTable;
using alloctap::testing::StarvedArena;

using Meta = alloctap::MemoryMetaContainer<alloctap::ShadowIndex>;

/// What a tracker holds; one lives at a time.
class Tables {
 public:
  Tables() {
    current_ = this;
    Owner::stats = stats_;
  }
  ~Tables() {
    current_ = nullptr;
    // It is the arena's, and another table's thread must not find it.
    Owner::stats = nullptr;
  }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  StackId stack(std::uintptr_t frame) { return table_->intern(std::vector{frame}); }

  void allocate(std::uintptr_t address, std::uint64_t size, StackId id) {
    Blocks::record_allocation(
        {.pointer = reinterpret_cast<void*>(address), .record = {.stack = id, .size = size}});
    const auto hash = alloctap::StackHash{}.with(id);
    last_ = stats_->stacks.find_or_add(hash, id);
    alloctap::StackTotals::count(*last_, size);
  }
  /// `temporary`: it counts as one of the stack that allocated last.
  void free(std::uintptr_t address, bool temporary = false) {
    Blocks::record_deallocation(reinterpret_cast<void*>(address));
    if (temporary) alloctap::StackTotals::count_temporary(*last_);
  }

  Snapshot take(alloctap::SnapshotOptions options = {}) {
    SnapshotBuilder builder(data(), options);
    builder.read();
    alloctap::Result<Snapshot> snapshot = builder.finish();
    REQUIRE(snapshot.ok());
    return *std::move(snapshot);
  }

  Meta& meta() { return *meta_; }
  const StackTable& stacks() { return *table_; }

  /// What a snapshot is made from.
  alloctap::RecordedData data() {
    return {.threads = *threads_,
            .stacks = *table_,
            .mappings = meta_->mappings(),
            .peak = *peak_,
            .timeline = *timeline_,
            .tags = {},
            .sampling = {.policy = alloctap::EveryAllocation::description(),
                         .weight = &alloctap::EveryAllocation::weight},
            .for_each_live = [](auto visit) noexcept { current_->meta_->for_each(visit); },
            .for_each_table = nullptr};
  }

 private:
  struct Owner {
    static constexpr bool kKeepsPeak = false;
    static Meta& meta() noexcept { return current_->meta(); }
    static alloctap::ThreadStatsTable& threads() noexcept { return *current_->threads_; }
    static alloctap::ThreadStats* mine() noexcept { return stats; }
    static inline alloctap::ThreadStats* stats = nullptr;
  };
  using Blocks = alloctap::BlockTracker<Meta, Owner>;

  static inline Tables* current_ = nullptr;

  std::unique_ptr<Meta> meta_ = std::make_unique<Meta>();
  std::unique_ptr<StackTable> table_ = std::make_unique<StackTable>();
  std::unique_ptr<alloctap::ThreadStatsTable> threads_ =
      std::make_unique<alloctap::ThreadStatsTable>();
  std::unique_ptr<alloctap::PeakTracker> peak_ = std::make_unique<alloctap::PeakTracker>();
  std::unique_ptr<alloctap::Timeline> timeline_ = std::make_unique<alloctap::Timeline>();
  alloctap::ThreadStats* stats_ = threads_->mine();
  alloctap::StackTotals::Entry* last_ = nullptr;
};

std::map<StackId, StackSummary> by_stack(const Snapshot& snapshot) {
  std::map<StackId, StackSummary> stacks;
  for (const StackSummary& stack : snapshot.stacks) stacks[stack.stack] = stack;
  return stacks;
}

}  // namespace

TEST_CASE("a snapshot sums up what each stack allocated, and what of it is live") {
  Tables tables;
  const StackId a = tables.stack(0xA);
  const StackId b = tables.stack(0xB);
  tables.allocate(0x1000, 100, a);
  tables.allocate(0x2000, 50, a);
  tables.allocate(0x3000, 7, b);
  tables.allocate(0x4000, 0, b);
  tables.free(0x1000);
  tables.free(0x3000, true);
  const Snapshot snapshot = tables.take();
  CHECK(snapshot.table == &tables.stacks());

  auto stacks = by_stack(snapshot);
  REQUIRE(stacks.size() == 2);
  CHECK(stacks[a].total.allocations == 2);
  CHECK(stacks[a].total.allocated_bytes == 150);
  CHECK(stacks[a].total.temporary_allocations == 0);
  CHECK(stacks[a].live_allocations == 1);
  CHECK(stacks[a].live_bytes == 50);
  CHECK(stacks[b].total.temporary_allocations == 1);
  CHECK(stacks[b].live_allocations == 1);
  CHECK(stacks[b].live_bytes == 0);

  CHECK(snapshot.totals.allocations == 4);
  CHECK(snapshot.totals.deallocations == 2);
  CHECK(snapshot.totals.allocated_bytes == 157);
  CHECK(snapshot.totals.live_allocations == 2);
  CHECK(snapshot.totals.live_bytes == 50);
  CHECK(snapshot.totals.peak_live_bytes == 157);
  CHECK(snapshot.totals.temporary_allocations == 1);
}

TEST_CASE("a snapshot counts what is live by size") {
  Tables tables;
  const StackId a = tables.stack(0xA);
  tables.allocate(0x1000, 0, a);
  tables.allocate(0x2000, 64, a);
  tables.allocate(0x3000, 127, kUnknownStack);
  tables.allocate(0x4000, 128, a);
  tables.allocate(0x5000, 100, a);
  tables.free(0x5000);
  const alloctap::SizeHistogram sizes = tables.take().sizes;
  CHECK(sizes[0].live_allocations == 1);
  CHECK(sizes[7].live_allocations == 2);
  CHECK(sizes[7].live_bytes == 64 + 127);
  CHECK(sizes[8].live_allocations == 1);
  CHECK(sizes[8].live_bytes == 128);
  std::uint64_t blocks = 0;
  for (const alloctap::SizeClass& size : sizes) blocks += size.live_allocations;
  CHECK(blocks == 4);
}

TEST_CASE("the unknown stack is counted, and one that allocated nothing is left out") {
  Tables tables;
  static_cast<void>(tables.stack(0xA));
  tables.allocate(0x1000, 100, kUnknownStack);
  const Snapshot snapshot = tables.take();
  REQUIRE(snapshot.stacks.size() == 1);
  CHECK(snapshot.stacks[0].stack == kUnknownStack);
  CHECK(snapshot.stacks[0].live_bytes == 100);
}

TEST_CASE("a snapshot tells what a thread did, and what it is called") {
  Tables tables;
  const StackId a = tables.stack(0xA);
  const StackId b = tables.stack(0xB);
  tables.allocate(0x1000, 100, a);
  tables.allocate(0x2000, 50, b);
  tables.free(0x2000, true);
  const Snapshot snapshot = tables.take();
  REQUIRE(snapshot.threads.size() == 1);
  const alloctap::ThreadSummary& thread = snapshot.threads[0];
  CHECK(thread.thread_id == alloctap::os::current_thread_id());
  CHECK(thread.alive);
  CHECK(thread.threads == alloctap::ThreadStates::mine()->generation);
  CHECK(thread.total.allocations == 2);
  CHECK(thread.total.allocated_bytes == 150);
  CHECK(thread.total.temporary_allocations == 1);
  CHECK(thread.deallocations == 1);
  CHECK(thread.net_bytes == 100);
}

TEST_CASE("a snapshot holds the live blocks by address, where they are asked for") {
  Tables tables;
  const StackId a = tables.stack(0xA);
  tables.allocate(0x3000, 7, a);
  // An odd address is kept apart from those that are multiples of 16.
  tables.allocate(0x2001, 70, a);
  tables.allocate(0x1000, 0, kUnknownStack);
  tables.allocate(0x4000, 1, a);
  tables.free(0x4000);
  CHECK(tables.take().blocks.empty());
  const Snapshot snapshot = tables.take({.blocks = true});
  REQUIRE(snapshot.blocks.size() == 3);
  CHECK(snapshot.blocks[0].address == 0x1000);
  CHECK(snapshot.blocks[0].size == 0);
  CHECK(snapshot.blocks[0].stack == kUnknownStack);
  CHECK(snapshot.blocks[1].address == 0x2001);
  CHECK(snapshot.blocks[1].size == 70);
  CHECK(snapshot.blocks[1].stack == a);
  CHECK(snapshot.blocks[2].address == 0x3000);
}

TEST_CASE("a snapshot that finds no memory for its blocks fails") {
  Tables tables;
  const StackId a = tables.stack(0xA);
  for (std::uintptr_t i = 1; i < 10'000; ++i) tables.allocate(i << 6, 1, a);
  alloctap::Status status;
  {
    const StarvedArena starved;
    SnapshotBuilder builder(tables.data(), {.blocks = true});
    builder.read();
    status = builder.finish().status();
  }
  CHECK(status.code() == alloctap::StatusCode::kResourceExhausted);
}

TEST_CASE("live mappings are summed up by the stack that made them") {
  Tables tables;
  const StackId a = tables.stack(0xA);
  const StackId b = tables.stack(0xB);
  tables.meta().mappings().map(0x100000, 0x4000, a);
  tables.meta().mappings().map(0x200000, 0x1000, a);
  tables.meta().mappings().map(0x300000, 0x1000, b);
  auto gone = tables.meta().mappings().begin_unmap(0x101000, 0x1000);
  tables.meta().mappings().finish_unmap(gone);
  gone = tables.meta().mappings().begin_unmap(0x300000, 0x1000);
  tables.meta().mappings().finish_unmap(gone);

  const Snapshot snapshot = tables.take();
  CHECK(snapshot.stacks.empty());
  REQUIRE(snapshot.mappings.size() == 1);
  CHECK(snapshot.mappings[0].stack == a);
  CHECK(snapshot.mappings[0].live_mappings == 3);
  CHECK(snapshot.mappings[0].live_bytes == 0x4000);
  CHECK(snapshot.mapping_totals.mappings == 3);
  CHECK(snapshot.mapping_totals.unmappings == 2);
  CHECK(snapshot.mapping_totals.live_bytes == 0x4000);
}

TEST_CASE("the account adds up what was seen, and what was missed") {
  Tables tables;
  const StackId a = tables.stack(0xA);
  tables.allocate(0x1000, 100, a);
  tables.allocate(0x1000, 100, a);
  tables.free(0x1000);
  tables.free(0x1000);
  tables.free(0x9000);
  tables.meta().mappings().map(0x100000, 0x1000, a);
  const Snapshot snapshot = tables.take();
  CHECK(snapshot.account.unseen_frees == 1);
  CHECK(snapshot.account.unmatched_frees == 2);
  CHECK(snapshot.account.dropped == 0);
  // Two allocations, each with its end; two frees of nothing; one mapping.
  CHECK(snapshot.account.events == 7);
  CHECK(snapshot.account.tracker_bytes == Arena::mapped_bytes());
  CHECK(snapshot.account.consistent);
}

TEST_CASE("a snapshot is of its time") {
  const std::int64_t before = alloctap::os::wall_clock_ns();
  const Snapshot snapshot = Tables().take();
  CHECK(snapshot.time_ns >= before);
  CHECK(snapshot.time_ns <= alloctap::os::wall_clock_ns());
}

TEST_CASE("a snapshot that finds no memory fails") {
  Tables tables;
  for (std::uintptr_t i = 1; i < 100'000; ++i) static_cast<void>(tables.stack(i));
  alloctap::Status status;
  {
    const StarvedArena starved;
    SnapshotBuilder builder(tables.data());
    builder.read();
    status = builder.finish().status();
  }
  CHECK(status.code() == alloctap::StatusCode::kResourceExhausted);
}

TEST_CASE("a snapshot that finds no memory for its mappings alone fails") {
  Tables tables;
  tables.meta().mappings().map(0x100000, 0x1000, tables.stack(0xA));
  SnapshotBuilder builder(tables.data());
  auto starved = std::make_unique<StarvedArena>();
  for (const std::size_t bytes : {1024U, 2048U, 4096U}) starved->give_back(1, bytes);
  builder.read();
  starved.reset();
  CHECK_FALSE(builder.finish().ok());
}

TEST_CASE("a snapshot stays as it is when the tables go on") {
  Tables tables;
  const StackId a = tables.stack(0xA);
  tables.allocate(0x1000, 100, a);
  const Snapshot before = tables.take();
  tables.allocate(0x2000, 10, a);
  tables.free(0x1000);
  CHECK(before.totals.live_bytes == 100);
  CHECK(before.stacks[0].live_allocations == 1);
  CHECK(tables.take().totals.live_bytes == 10);
}
