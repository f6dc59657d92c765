#include <doctest/doctest.h>

#include <string>

#include "alloctap/testing/baseline.hpp"

namespace {

using alloctap::testing::Baseline;
using alloctap::testing::BaselineTolerance;
using alloctap::testing::compare_baselines;
using alloctap::testing::Tolerance;

const Baseline& old_counts() {
  static const Baseline baseline{.stacks = {{{"m  same"}, {5, 50}},
                                            {{"m  more", "m  main"}, {12, 4096}},
                                            {{"m  gone"}, {1, 8}}}};
  return baseline;
}

const Baseline& new_counts() {
  static const Baseline baseline{.stacks = {{{"m  same"}, {5, 50}},
                                            {{"m  more", "m  main"}, {13, 5000}},
                                            {{"m  new"}, {2, 16}}}};
  return baseline;
}

}  // namespace

TEST_CASE("stacks that changed are told, most growth first") {
  const auto comparison = compare_baselines(old_counts(), new_counts());
  CHECK_FALSE(comparison.passes());
  CHECK(difference_text(comparison) ==
        "  total: 18 -> 20 allocations (+2), 4,154 -> 5,066 bytes (+912)\n"
        "  changed: 12 -> 13 allocations (+1), 4,096 -> 5,000 bytes (+904)\n"
        "    m  more\n"
        "    m  main\n"
        "  new: 2 allocations, 16 bytes\n"
        "    m  new\n"
        "  gone: 1 allocation, 8 bytes\n"
        "    m  gone\n");
  CHECK(difference_text(comparison, 1).ends_with("    m  main\n  and 2 more stacks\n"));
}

TEST_CASE("what did not change passes") {
  const auto comparison = compare_baselines(old_counts(), old_counts());
  CHECK(comparison.passes());
  CHECK(difference_text(comparison) == "  total: 18 allocations, 4,154 bytes\n");
}

TEST_CASE("a tolerance is so much or so many percent, whichever is more") {
  CHECK(Tolerance{}.allows(7, 7));
  CHECK_FALSE(Tolerance{}.allows(7, 8));
  CHECK(Tolerance{.absolute = 3}.allows(10, 7));
  CHECK_FALSE(Tolerance{.absolute = 3}.allows(10, 6));
  CHECK(Tolerance{.percent = 10}.allows(100, 110));
  CHECK(Tolerance{.percent = 10}.allows(100, 90));
  CHECK_FALSE(Tolerance{.percent = 10}.allows(100, 111));
  CHECK_FALSE(Tolerance{.percent = 10}.allows(0, 1));
  CHECK(Tolerance{.absolute = 2, .percent = 1}.allows(100, 102));
  CHECK_FALSE(Tolerance{.percent = -5}.allows(100, 101));
  CHECK(Tolerance::any().allows(0, ~std::uint64_t{0}));
}

TEST_CASE("tolerances are of stacks and of sums, each of calls and of bytes") {
  BaselineTolerance tolerance{.stack_allocations = {.absolute = 2}, .stack_bytes = {}};
  CHECK(compare_baselines(old_counts(), new_counts(), tolerance).changes.size() == 3);
  tolerance.stack_bytes.absolute = 904;
  const auto tolerated = compare_baselines(old_counts(), new_counts(), tolerance);
  CHECK(tolerated.passes());
  CHECK(difference_text(tolerated).ends_with("  within the tolerance: 3 more stacks\n"));
  tolerance.total_bytes = {.absolute = 911};
  const auto exceeded = compare_baselines(old_counts(), new_counts(), tolerance);
  CHECK_FALSE(exceeded.passes());
  CHECK(difference_text(exceeded).find("beyond its tolerance") != std::string::npos);
  tolerance.total_bytes = {.absolute = 912};
  tolerance.total_allocations = {.absolute = 1};
  CHECK_FALSE(compare_baselines(old_counts(), new_counts(), tolerance).passes());
}

TEST_CASE("fewer allocations pass where that is asked for alone") {
  CHECK_FALSE(compare_baselines(old_counts(), {}).passes());
  CHECK(compare_baselines(old_counts(), {}, {.allows_fewer = true}).passes());
  CHECK_FALSE(compare_baselines({}, old_counts(), {.allows_fewer = true}).passes());
}
