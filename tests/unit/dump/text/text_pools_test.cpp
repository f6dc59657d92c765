#include <doctest/doctest.h>

#include <string>

#include "alloctap/dump/text/text_parts.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "tests/support/pooled_report.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

std::string pools_of(const SampleReport& sample) {
  const std::string text = render(TextDump{}, sample.report());
  const std::size_t begin = text.find("\nPools, ");
  const std::size_t end = text.find("\nStacks that hold");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin);
}

}  // namespace

TEST_CASE("the text has each pool, most live bytes first, with the stacks that hold it") {
  PooledReport sample;
  CHECK(pools_of(TaggedReport()).empty());
  CHECK(pools_of(sample) == R"(
Pools, most live bytes first; their blocks lie in memory that is counted elsewhere
  arena: 500 B in 5 blocks, peak 700 B; in all 13 of 1.3 KiB, 8 freed; overhead 8.0 KiB
    300 B in 3 blocks; in all 3 of 300 B
    engine::load(char const*)   0x1010
    main   0x3030
    200 B in 2 blocks; in all 10 of 1000 B
    of tag Game/Physics, thread game (4711)
    main   0x3000
  old level (destroyed): 0 B in 0 blocks, peak 4.0 KiB; in all 1,000 of 1.0 MiB, 1,000 freed
)");
}

TEST_CASE("the text says what of pools was wrong") {
  PooledReport sample;
  sample.snapshot.pools.unknown_frees = 1;
  sample.snapshot.pools.wrong_pool_frees = 2;
  sample.snapshot.pools.announced_twice = 3;
  sample.snapshot.pools.unknown_pools = 4000;
  sample.snapshot.pools.dropped = 5;
  sample.snapshot.pools.refused_pools = 6;
  const std::string text = pools_of(sample);
  CHECK(text.find(R"(
  frees of blocks that no pool has: 1
  frees of blocks that another pool has, and keeps: 2
  blocks announced while they were live: 3
  calls for pools that were destroyed, or never created: 4,000
  events lost because the system had no memory: 5
  pools left out because there were too many: 6
)") != std::string::npos);
}

TEST_CASE("of many pools and stacks the first are shown") {
  PooledReport sample;
  PoolsSummary& pools = sample.snapshot.pools;
  pools.pools.clear();
  pools.stacks.clear();
  for (std::uintptr_t i = 0; i < 25; ++i) {
    REQUIRE(pools.stacks.push_back({sample.intern({0x9000 + i}), 1, i, 1, i}));
  }
  for (int i = 0; i < 25; ++i) {
    REQUIRE(pools.pools.push_back({.name = "", .live_bytes = 300, .stack_count = 25}));
  }
  const std::string text = pools_of(sample);
  CHECK(text.find("(no name): 300 B") != std::string::npos);
  CHECK(text.find("24 B in 1 block; in all 1 of 24 B\n    0x9018") == std::string::npos);
  CHECK(text.find("    22 B in 1 block") != std::string::npos);
  CHECK(text.find("    21 B in 1 block") == std::string::npos);
  CHECK(text.find("  and 5 more\n") != std::string::npos);
}

TEST_CASE("the name of a pool cannot forge a line or control a terminal") {
  PooledReport sample;
  sample.snapshot.pools.pools[1].name = "evil\n#1  fake line\x1b[31m";
  const std::string text = pools_of(sample);
  CHECK(text.find("  evil\\n#1  fake line\\x1b[31m: 500 B in 5 blocks") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
}
