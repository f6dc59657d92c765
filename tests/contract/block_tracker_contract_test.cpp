// Over every container the counts agree with a plain count of the events.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/meta/meta_container.hpp"
#include "alloctap/meta/shadow_index.hpp"
#include "tests/support/counted_container.hpp"

namespace {

using alloctap::BlockRecord;
using alloctap::kNoStackId;
using alloctap::StackId;
using alloctap::testing::CountedContainer;

using OverHash = alloctap::MemoryMetaContainer<alloctap::FlatHashIndex>;
using OverShadow = alloctap::MemoryMetaContainer<alloctap::ShadowIndex>;

void* block(std::uint64_t number) { return reinterpret_cast<void*>(0x5000'0000 + number * 16); }

/// What should be in the container, and counted.
struct Model {
  std::map<void*, BlockRecord> live;
  alloctap::EventCounters counters;
  std::uint64_t live_bytes = 0;
  std::uint64_t peak_live_bytes = 0;

  void allocate(void* pointer, const BlockRecord& record) {
    come(record);
    if (live.contains(pointer)) {
      ++counters.unseen_frees;
      go(live[pointer]);
    }
    live[pointer] = record;
  }

  void come(const BlockRecord& record) {
    live_bytes += record.size;
    peak_live_bytes = std::max(peak_live_bytes, live_bytes);
  }

  void go(const BlockRecord& record) {
    ++counters.deallocations;
    live_bytes -= record.size;
  }

  void deallocate(void* pointer) {
    if (!live.contains(pointer)) {
      ++counters.unmatched_frees;
      return;
    }
    go(live[pointer]);
    live.erase(pointer);
  }
};

template <class Blocks>
void check_equal(Blocks& blocks, const Model& model) {
  blocks.meta().for_each([&](const void* pointer, const BlockRecord& record) {
    const auto place = model.live.find(const_cast<void*>(pointer));
    REQUIRE(place != model.live.end());
    CHECK(place->second.stack == record.stack);
    CHECK(place->second.size == record.size);
  });
  CHECK(blocks.live_blocks() == model.live.size());
  const alloctap::EventCounters counters = blocks.counters();
  CHECK(counters.deallocations == model.counters.deallocations);
  CHECK(counters.unmatched_frees == model.counters.unmatched_frees);
  CHECK(counters.unseen_frees == model.counters.unseen_frees);
  CHECK(counters.dropped == 0);
  CHECK(blocks.threads().live().peak() == model.peak_live_bytes);
}

/// A reallocation as a recorder tells it: taken out, then put back or replaced.
template <class Blocks>
void reallocate(Blocks& blocks, Model& model, void* pointer, void* next, const BlockRecord& grown,
                bool fails) {
  const BlockRecord taken = blocks->take(pointer);
  if (taken.stack == kNoStackId) {
    ++model.counters.unmatched_frees;
  } else if (fails) {
    blocks->put_back(pointer, taken);
  } else {
    model.go(model.live[pointer]);
    model.live.erase(pointer);
    blocks->record_allocation({.pointer = next, .record = grown});
    model.allocate(next, grown);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("counters, live blocks and the peak follow every kind of event", Meta, OverHash,
                   OverShadow) {
  static CountedContainer<Meta, struct BlockTrackerContract> blocks;
  Model model;
  std::mt19937_64 random(3);
  for (int step = 0; step < 30'000; ++step) {
    void* pointer = block(random() % 200);
    const BlockRecord record{.stack = static_cast<StackId>(1 + random() % 5),
                             .size = random() % 1000};
    switch (random() % 4) {
      case 0:
        blocks->record_allocation({.pointer = pointer, .record = record});
        model.allocate(pointer, record);
        break;
      case 1:
        blocks->record_deallocation(pointer);
        model.deallocate(pointer);
        break;
      case 2:
        reallocate(blocks, model, pointer, block(random() % 200), record, step % 2 == 0);
        break;
      default:
        blocks->count_pair(record);
        model.come(record);
        model.go(record);
    }
  }
  check_equal(blocks, model);
}
