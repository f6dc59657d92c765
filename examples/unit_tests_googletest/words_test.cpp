// The tests of unit_tests_doctest, with GoogleTest: that which leaks fails by itself.
#include "../unit_tests/words.hpp"

#include <gtest/gtest.h>

#include <alloctap/testing/expectations.hpp>

using alloctap::testing::expect_baseline;
using alloctap::testing::expect_no_allocation;
using alloctap::testing::expect_no_growth;

TEST(Words, AreCounted) { EXPECT_EQ(count_words("every word counts"), 3U); }

TEST(Words, AreKeptOnce) {
  EXPECT_EQ(&intern("a word of some length"), &intern("a word of some length"));
}

TEST(Mixing, TakesNoMemory) {
  std::vector<int> sum(100);
  const std::vector<int> ones(100, 1);
  expect_no_allocation([&] { EXPECT_EQ(mix(ones, ones, sum), 2); });
}

TEST(Splitting, TakesNoMemory) {
  expect_no_allocation([] { EXPECT_EQ(split("a b").size(), 2U); });
}

TEST(Interning, TakesNoMoreMemory) {
  expect_no_growth(100, [] { intern("one"), intern("another"); });
}

struct Lengths : ::testing::TestWithParam<const char*> {};

TEST_P(Lengths, AreNoLeak) { EXPECT_FALSE(split(GetParam()).empty()); }

INSTANTIATE_TEST_SUITE_P(OfTexts, Lengths, ::testing::Values("one", "one and another"));

TEST(Splitting, AllocatesWhatItDidBefore) {
  expect_baseline("split", [] { static_cast<void>(split("three words here")); },
                  {.directory = BASELINES, .without_library = true});
}
