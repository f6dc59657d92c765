// Tests as anybody writes them. The first leaks and fails for it; the second fills a table that
// stays, which is no leak; the third says that it does not allocate, and is right; the fourth says
// so and is wrong. The last is held against baselines/split.baseline.
#include "../unit_tests/words.hpp"

#include <doctest/doctest.h>

#include <alloctap/testing/expectations.hpp>

using alloctap::testing::expect_baseline;
using alloctap::testing::expect_no_allocation;
using alloctap::testing::expect_no_growth;

TEST_CASE("words are counted") { CHECK(count_words("every word counts") == 3); }

TEST_CASE("a word is kept once") {
  CHECK(&intern("a word of some length") == &intern("a word of some length"));
}

TEST_CASE("mixing takes no memory") {
  std::vector<int> sum(100);
  const std::vector<int> ones(100, 1);
  expect_no_allocation([&] { CHECK(mix(ones, ones, sum) == 2); });
}

TEST_CASE("splitting takes no memory") {
  expect_no_allocation([] { CHECK(split("a b").size() == 2); });
}

TEST_CASE("interning the same words again and again takes no more memory") {
  expect_no_growth(100, [] { intern("one"), intern("another"); });
}

TEST_CASE("splitting allocates what it did before") {
  expect_baseline("split", [] { static_cast<void>(split("three words here")); },
                  {.directory = BASELINES, .without_library = true});
}
