#include "alloctap/runtime/text_pool.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::Arena;
using alloctap::TextPool;

}  // namespace

TEST_CASE("kept texts stay where they are while the pool grows and moves") {
  TextPool pool;
  std::vector<std::string> originals;
  std::vector<std::string_view> kept;
  for (std::size_t i = 0; i < 2000; ++i) {
    originals.emplace_back(i % 300, static_cast<char>('a' + i % 26));
    kept.push_back(pool.keep(originals.back()));
  }
  const TextPool moved(std::move(pool));
  for (std::size_t i = 0; i < kept.size(); ++i) CHECK(kept[i] == originals[i]);
}

TEST_CASE("a kept text is a copy, and one that is too long is cut") {
  TextPool pool;
  std::string original = "text";
  const std::string_view kept = pool.keep(original);
  original = "else";
  CHECK(kept == "text");
  const std::string endless(TextPool::kLongest + 1, 'x');
  CHECK(pool.keep(endless) == std::string_view(endless).substr(1));
  CHECK(pool.keep("").empty());
}

TEST_CASE("a pool gives its memory back") {
  const std::string text(TextPool::kLongest, 'x');
  const auto fill = [&] {
    TextPool pool;
    for (int i = 0; i < 100; ++i) CHECK_FALSE(pool.keep(text).empty());
    TextPool other;
    other = std::move(pool);
  };
  fill();
  const std::size_t before = Arena::mapped_bytes();
  fill();
  CHECK(Arena::mapped_bytes() == before);
}

TEST_CASE("a text that there is no memory for is empty") {
  TextPool pool;
  std::string_view kept = "not empty";
  {
    const alloctap::testing::StarvedArena starved;
    kept = pool.keep("text");
  }
  CHECK(kept.empty());
  CHECK(pool.keep("text") == "text");
}
