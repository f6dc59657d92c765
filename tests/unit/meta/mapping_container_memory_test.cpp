#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "alloctap/meta/mapping_container.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/unit/meta/mapping_pages.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::DetachedMappings;
using alloctap::MappingContainer;
using alloctap::MappingInterval;

}  // namespace

TEST_CASE("a mapping that has no memory for its record is counted and what it covered is gone") {
  MappingContainer container;
  CHECK(map_pages(container, 0, 4, 1));
  bool kept = true;
  {
    StarvedArena starved;
    kept = map_pages(container, 2, 4, 2);
  }
  CHECK_FALSE(kept);
  CHECK(intervals(container) == std::vector<Seen>{{0, 2, 1, 1}});
  CHECK(container.totals().mappings == 2);
  CHECK(container.totals().mapped_bytes == pages(8));
  CHECK(container.dropped() == 1);
}

TEST_CASE("a mapping inside another that has no memory leaves the other whole") {
  MappingContainer container;
  CHECK(map_pages(container, 0, 9, 1));
  bool kept = true;
  {
    StarvedArena starved;
    kept = map_pages(container, 3, 2, 2);
  }
  CHECK_FALSE(kept);
  CHECK(intervals(container) == std::vector<Seen>{{0, 9, 1, 1}});
  CHECK(container.dropped() == 1);
}

TEST_CASE("a mapping over whole others needs no more memory than they gave back") {
  MappingContainer container;
  CHECK(map_pages(container, 0, 4, 1));
  bool kept = false;
  {
    StarvedArena starved;
    kept = map_pages(container, 0, 8, 2);
  }
  CHECK(kept);
  CHECK(intervals(container) == std::vector<Seen>{{0, 8, 2, 2}});
}

TEST_CASE("unmapping the middle keeps both sides before it keeps what could come back") {
  struct Expectation {
    std::size_t blocks;
    std::uint64_t dropped;
    std::vector<Seen> after_begin;
    std::vector<Seen> after_cancel;
  };
  const std::vector<Seen> whole{{0, 9, 1, 1}};
  const std::vector<Seen> sides{{0, 3, 1, 1}, {5, 4, 1, 1}};
  const Expectation expectations[] = {
      {0, 1, whole, whole}, {1, 1, sides, sides}, {2, 0, sides, whole}};
  for (const Expectation& expected : expectations) {
    CAPTURE(expected.blocks);
    MappingContainer container;
    CHECK(map_pages(container, 0, 9, 1));
    DetachedMappings detached;
    {
      StarvedArena starved;
      starved.give_back(expected.blocks, sizeof(MappingInterval));
      detached = begin_unmap(container, 3, 2);
    }
    CHECK(intervals(container) == expected.after_begin);
    container.cancel_unmap(detached);
    CHECK(intervals(container) == expected.after_cancel);
    CHECK(container.dropped() == expected.dropped);
  }
}

TEST_CASE("unmapping an end keeps the rest before it keeps what could come back") {
  MappingContainer container;
  CHECK(map_pages(container, 0, 4, 1));
  DetachedMappings detached;
  {
    StarvedArena starved;
    detached = begin_unmap(container, 2, 4);
  }
  container.cancel_unmap(detached);
  CHECK(intervals(container) == std::vector<Seen>{{0, 2, 1, 1}});
  CHECK(container.dropped() == 1);
}

TEST_CASE("a cancelled unmapping needs no memory") {
  MappingContainer container;
  CHECK(map_pages(container, 0, 9, 1));
  DetachedMappings detached = begin_unmap(container, 3, 2);
  {
    StarvedArena starved;
    container.cancel_unmap(detached);
  }
  CHECK(intervals(container) == std::vector<Seen>{{0, 9, 1, 1}});
  CHECK(container.dropped() == 0);
}

TEST_CASE("a piece that has no memory between newer mappings is counted") {
  MappingContainer container;
  CHECK(map_pages(container, 0, 9, 1));
  DetachedMappings detached = begin_unmap(container, 0, 9);
  CHECK(map_pages(container, 3, 2, 2));
  {
    StarvedArena starved;
    container.cancel_unmap(detached);
  }
  CHECK(intervals(container) == std::vector<Seen>{{0, 3, 1, 1}, {3, 2, 2, 2}});
  CHECK(container.dropped() == 1);
}
