#include "alloctap/runtime/join_equal.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

namespace {

struct KeyedSum {
  int key = 0;
  int sum = 0;
};

alloctap::ArenaArray<KeyedSum> joined(std::initializer_list<KeyedSum> parts) {
  alloctap::ArenaArray<KeyedSum> list;
  for (const KeyedSum& part : parts) REQUIRE(list.push_back(part));
  alloctap::join_equal(list, &KeyedSum::key,
                       [](KeyedSum& sum, const KeyedSum& next) { sum.sum += next.sum; });
  return list;
}

}  // namespace

TEST_CASE("an empty list stays empty when equal keys are joined") { CHECK(joined({}).empty()); }

TEST_CASE("what lies between others is added up under its key, in the order of keys") {
  const auto sums = joined({{7, 10}, {3, 200}, {7, 30}, {3, 400}, {5, 1}, {7, 5}});
  REQUIRE(sums.size() == 3);
  CHECK(sums[0].key == 3);
  CHECK(sums[0].sum == 600);
  CHECK(sums[1].key == 5);
  CHECK(sums[1].sum == 1);
  CHECK(sums[2].key == 7);
  CHECK(sums[2].sum == 45);
}
