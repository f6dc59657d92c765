#include "alloctap/snapshot/snapshot.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

namespace {

using alloctap::ArenaArray;
using alloctap::MappingSummary;

ArenaArray<MappingSummary> joined(std::initializer_list<MappingSummary> mappings) {
  ArenaArray<MappingSummary> list;
  for (const MappingSummary& mapping : mappings) REQUIRE(list.push_back(mapping));
  alloctap::join_by_stack(list);
  return list;
}

}  // namespace

TEST_CASE("no mappings are none of any stack") { CHECK(joined({}).empty()); }

TEST_CASE("mappings that lie between those of other stacks are summed up in the order of ids") {
  const auto sums =
      joined({{7, 1, 10}, {3, 1, 200}, {7, 1, 30}, {3, 2, 400}, {5, 1, 1}, {7, 1, 5}});
  REQUIRE(sums.size() == 3);
  CHECK(sums[0].stack == 3);
  CHECK(sums[0].live_mappings == 3);
  CHECK(sums[0].live_bytes == 600);
  CHECK(sums[1].stack == 5);
  CHECK(sums[1].live_mappings == 1);
  CHECK(sums[1].live_bytes == 1);
  CHECK(sums[2].stack == 7);
  CHECK(sums[2].live_mappings == 3);
  CHECK(sums[2].live_bytes == 45);
}
