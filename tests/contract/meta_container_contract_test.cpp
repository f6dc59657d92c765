// Every container agrees with a plain count of what it was told.
#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <random>

#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/meta/memory_meta_container.hpp"
#include "alloctap/meta/shadow_index.hpp"

namespace {

using alloctap::BlockRecord;
using alloctap::kNoStackId;
using alloctap::StackId;

using OverHash = alloctap::MemoryMetaContainer<alloctap::FlatHashIndex>;
using OverShadow = alloctap::MemoryMetaContainer<alloctap::ShadowIndex>;

constexpr StackId kStacks = 5;

void* block(std::uint64_t number) { return reinterpret_cast<void*>(0x5000'0000 + number * 16); }

/// What should be in the container.
struct Model {
  std::map<void*, BlockRecord> live;
  std::array<alloctap::AllocationTotals, kStacks + 1> totals{};
  alloctap::ContainerCounters counters;
  std::uint64_t live_bytes = 0;

  void allocate(void* pointer, const BlockRecord& record) {
    ++totals[record.stack].allocations;
    totals[record.stack].allocated_bytes += record.size;
    live_bytes += record.size;
    counters.peak_live_bytes = std::max(counters.peak_live_bytes, live_bytes);
    if (live.contains(pointer)) {
      ++counters.unseen_frees;
      gone(live[pointer], false);
    }
    live[pointer] = record;
  }

  void gone(const BlockRecord& record, bool temporary) {
    ++counters.deallocations;
    live_bytes -= record.size;
    totals[record.stack].temporary_allocations += temporary;
  }

  void deallocate(void* pointer, bool temporary) {
    if (!live.contains(pointer)) {
      ++counters.unmatched_frees;
      return;
    }
    gone(live[pointer], temporary);
    live.erase(pointer);
  }
};

template <class Meta>
void check_equal(Meta& meta, const Model& model) {
  std::size_t live = 0;
  meta.for_each_live([&](const void* pointer, const BlockRecord& record) {
    const auto place = model.live.find(const_cast<void*>(pointer));
    REQUIRE(place != model.live.end());
    CHECK(place->second.stack == record.stack);
    CHECK(place->second.size == record.size);
    ++live;
  });
  CHECK(live == model.live.size());
  for (StackId stack = 1; stack <= kStacks; ++stack) {
    CHECK(meta.totals(stack).allocations == model.totals[stack].allocations);
    CHECK(meta.totals(stack).allocated_bytes == model.totals[stack].allocated_bytes);
    CHECK(meta.totals(stack).temporary_allocations == model.totals[stack].temporary_allocations);
  }
  const alloctap::ContainerCounters counters = meta.counters();
  CHECK(counters.deallocations == model.counters.deallocations);
  CHECK(counters.unmatched_frees == model.counters.unmatched_frees);
  CHECK(counters.unseen_frees == model.counters.unseen_frees);
  CHECK(counters.peak_live_bytes == model.counters.peak_live_bytes);
  CHECK(counters.dropped == 0);
}

/// A reallocation as a recorder tells it: taken out, then put back or replaced.
template <class Meta>
void reallocate(Meta& meta, Model& model, void* pointer, void* next, const BlockRecord& grown,
                bool fails) {
  const BlockRecord taken = meta.take(pointer);
  if (taken.stack == kNoStackId) {
    ++model.counters.unmatched_frees;
  } else if (fails) {
    meta.put_back(pointer, taken);
  } else {
    meta.count_reallocated(taken, false);
    model.gone(model.live[pointer], false);
    model.live.erase(pointer);
    meta.record_allocation({.pointer = next, .record = grown});
    model.allocate(next, grown);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("totals, live blocks and the peak follow every kind of event", Meta, OverHash,
                   OverShadow) {
  const auto meta = std::make_unique<Meta>();
  Model model;
  std::mt19937_64 random(3);
  for (int step = 0; step < 30'000; ++step) {
    void* pointer = block(random() % 200);
    const BlockRecord record{.stack = static_cast<StackId>(1 + random() % kStacks),
                             .size = random() % 1000};
    switch (random() % 4) {
      case 0:
        meta->record_allocation({.pointer = pointer, .record = record});
        model.allocate(pointer, record);
        break;
      case 1:
        meta->record_deallocation(pointer, step % 3 == 0);
        model.deallocate(pointer, step % 3 == 0);
        break;
      case 2:
        reallocate(*meta, model, pointer, block(random() % 200), record, step % 2 == 0);
        break;
      default:
        meta->count_pair(record, true);
        ++model.totals[record.stack].allocations;
        model.totals[record.stack].allocated_bytes += record.size;
        model.live_bytes += record.size;
        model.counters.peak_live_bytes = std::max(model.counters.peak_live_bytes, model.live_bytes);
        model.gone(record, true);
    }
  }
  check_equal(*meta, model);
}
