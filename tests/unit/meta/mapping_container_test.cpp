#include "alloctap/meta/mapping_container.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "alloctap/runtime/arena.hpp"
#include "tests/unit/meta/mapping_pages.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::Arena;
using alloctap::DetachedMappings;
using alloctap::MappingContainer;

constinit MappingContainer static_container;

}  // namespace

TEST_CASE("a static mapping container works without a constructor") {
  CHECK(map_pages(static_container, 0, 1, 1));
  CHECK(static_container.live_mappings() == 1);
}

TEST_CASE("a mapping is recorded in whole pages with its stack") {
  MappingContainer container;
  CHECK(container.map(kFirstPage, 1, 7));
  CHECK(intervals(container) == std::vector<Seen>{{0, 1, 7, 1}});
  CHECK(container.live_bytes() == pages(1));
}

TEST_CASE("bytes of all mappings stay at the largest number rather than begin again") {
  MappingContainer container;
  constexpr std::size_t kReserved = std::size_t{1} << 62;
  for (int i = 0; i < 5; ++i) static_cast<void>(container.map(kFirstPage, kReserved, 7));
  CHECK(container.totals().mapped_bytes == UINT64_MAX);
  CHECK(container.totals().mappings == 5);
  CHECK(container.live_bytes() == kReserved);
}

TEST_CASE("a mapping of no bytes is none") {
  MappingContainer container;
  CHECK(container.map(kFirstPage, 0, 7));
  CHECK(container.totals().mappings == 0);
  CHECK(container.live_mappings() == 0);
}

TEST_CASE("adjacent mappings of one stack stay two") {
  MappingContainer container;
  CHECK(map_pages(container, 0, 2, 7));
  CHECK(map_pages(container, 2, 2, 7));
  CHECK(intervals(container) == std::vector<Seen>{{0, 2, 7, 1}, {2, 2, 7, 2}});
}

TEST_CASE("unmapping the middle leaves both sides under the number of their mapping") {
  MappingContainer container;
  CHECK(map_pages(container, 0, 9, 7));
  unmap(container, 3, 2);
  CHECK(intervals(container) == std::vector<Seen>{{0, 3, 7, 1}, {5, 4, 7, 1}});
  CHECK(container.totals().unmappings == 1);
  CHECK(container.totals().peak_live_bytes == pages(9));
}

TEST_CASE("mapping over others replaces the pages that it covers") {
  MappingContainer container;
  CHECK(map_pages(container, 0, 4, 1));
  CHECK(map_pages(container, 4, 4, 2));
  CHECK(map_pages(container, 2, 4, 3));
  CHECK(intervals(container) == std::vector<Seen>{{0, 2, 1, 1}, {2, 4, 3, 3}, {6, 2, 2, 2}});
}

TEST_CASE("a cancelled unmapping makes one interval of what it split") {
  MappingContainer container;
  CHECK(map_pages(container, 0, 9, 7));
  DetachedMappings detached = begin_unmap(container, 3, 2);
  CHECK(container.live_mappings() == 2);
  CHECK(container.live_bytes() == pages(7));
  container.cancel_unmap(detached);
  CHECK(intervals(container) == std::vector<Seen>{{0, 9, 7, 1}});
  CHECK(container.totals().unmappings == 0);
  CHECK(detached.first == nullptr);
}

TEST_CASE("a mapping made during an unmapping that fails stays") {
  MappingContainer container;
  CHECK(map_pages(container, 0, 9, 7));
  DetachedMappings detached = begin_unmap(container, 1, 7);
  CHECK(map_pages(container, 3, 2, 8));
  container.cancel_unmap(detached);
  CHECK(intervals(container) == std::vector<Seen>{{0, 3, 7, 1}, {3, 2, 8, 2}, {5, 4, 7, 1}});
}

TEST_CASE("an unmapping beside mappings takes nothing out") {
  MappingContainer container;
  CHECK(map_pages(container, 0, 2, 7));
  CHECK(map_pages(container, 4, 2, 7));
  DetachedMappings detached = begin_unmap(container, 2, 2);
  CHECK(detached.first == nullptr);
  container.finish_unmap(detached);
  CHECK(container.live_bytes() == pages(4));
}

TEST_CASE("an unmapping of absurd length ends with the address space") {
  MappingContainer container;
  CHECK(map_pages(container, 0, 2, 7));
  DetachedMappings detached = container.begin_unmap(kFirstPage + pages(1), SIZE_MAX);
  CHECK(intervals(container) == std::vector<Seen>{{0, 1, 7, 1}});
  container.cancel_unmap(detached);
  CHECK(intervals(container) == std::vector<Seen>{{0, 2, 7, 1}});
}

TEST_CASE("mapping, splitting, cancelling and unmapping for ever takes no more memory") {
  MappingContainer container;
  const auto round = [&] {
    bool kept = map_pages(container, 0, 9, 7) && map_pages(container, 3, 3, 8);
    DetachedMappings detached = begin_unmap(container, 1, 7);
    kept = map_pages(container, 4, 4, 9) && kept;
    container.cancel_unmap(detached);
    unmap(container, 0, 9);
    return kept;
  };
  CHECK(round());
  const std::size_t before = Arena::mapped_bytes();
  bool kept = true;
  for (int i = 0; i < 100'000; ++i) kept = round() && kept;
  CHECK(kept);
  CHECK(Arena::mapped_bytes() == before);
}

TEST_CASE("threads that map and unmap beside each other lose nothing") {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kRounds = 20'000;
  MappingContainer container;
  const auto work = [&](std::size_t base) {
    for (std::size_t i = 0; i < kRounds; ++i) {
      map_pages(container, base, 8, 1);
      DetachedMappings detached = begin_unmap(container, base + 2, 4);
      container.cancel_unmap(detached);
      unmap(container, base, 8 - i % 2);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(work, i * 8);
  for (std::thread& thread : threads) thread.join();
  const alloctap::MappingTotals totals = container.totals();
  CHECK(totals.mappings == kThreads * kRounds);
  CHECK(totals.unmappings == kThreads * kRounds);
  CHECK(totals.live_mappings == kThreads);
  CHECK(totals.live_bytes == pages(kThreads));
  CHECK(totals.dropped == 0);
}
