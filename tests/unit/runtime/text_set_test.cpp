#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "alloctap/runtime/text_pool.hpp"

using alloctap::TextSet;

TEST_CASE("a set keeps each text once, however it grows") {
  TextSet set;
  std::vector<std::string_view> kept;
  for (int i = 0; i < 5000; ++i) kept.push_back(set.keep("text " + std::to_string(i)));
  CHECK(set.size() == 5000);
  for (int i = 0; i < 5000; ++i) {
    const std::string text = "text " + std::to_string(i);
    REQUIRE(kept[static_cast<std::size_t>(i)] == text);
    REQUIRE(set.keep(text).data() == kept[static_cast<std::size_t>(i)].data());
  }
  CHECK(set.size() == 5000);
}

TEST_CASE("the empty text takes no room") {
  TextSet set;
  CHECK(set.keep("").empty());
  CHECK(set.size() == 0);
}

TEST_CASE("a text that is cut inside of a character is kept once") {
  TextSet set;
  const std::string text = std::string(alloctap::TextPool::kLongest - 1, 'x') + "\u00e9 and more";
  const std::string_view kept = set.keep(text);
  CHECK(kept.size() == alloctap::TextPool::kLongest - 1);
  CHECK(set.keep(text).data() == kept.data());
  CHECK(set.size() == 1);
}
