#include "alloctap/tag/tag_table.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/exhausted_arena.hpp"

namespace {

using alloctap::kNoTag;
using alloctap::TagId;
using alloctap::TagTable;
using alloctap::testing::StarvedArena;

}  // namespace

TEST_CASE("a name inside of a tag is one tag, inside of another one another") {
  const auto tags = std::make_unique<TagTable>();
  const TagId game = tags->find_or_add(kNoTag, "Game");
  const TagId physics = tags->find_or_add(game, "Physics");
  const TagId loose = tags->find_or_add(kNoTag, "Physics");
  CHECK(game != kNoTag);
  CHECK(tags->find_or_add(kNoTag, "Game") == game);
  CHECK(tags->find_or_add(game, std::string("Phy") + "sics") == physics);
  CHECK(loose != physics);
  CHECK(tags->name(physics) == "Physics");
  CHECK(tags->parent(physics) == game);
  CHECK(tags->parent(loose) == kNoTag);
  CHECK(tags->end_id() == 4);
}

TEST_CASE("what was never given out has no name, and nothing is put inside of it") {
  const auto tags = std::make_unique<TagTable>();
  CHECK(tags->name(kNoTag).empty());
  CHECK(tags->name(7).empty());
  CHECK(tags->parent(7) == kNoTag);
  CHECK(tags->find_or_add(7, "Physics") == 7);
  CHECK(tags->find_or_add(kNoTag, "") == kNoTag);
  CHECK(tags->end_id() == 1);
}

TEST_CASE("a name that is too long is cut") {
  const auto tags = std::make_unique<TagTable>();
  const std::string longest(TagTable::kLongestName, 'x');
  const TagId tag = tags->find_or_add(kNoTag, longest + "y");
  CHECK(tags->name(tag) == longest);
  CHECK(tags->find_or_add(kNoTag, longest) == tag);
  const std::string before = longest.substr(1);
  CHECK(tags->name(tags->find_or_add(kNoTag, before + "\xC3\xA9")) == before);
}

TEST_CASE("when all tags are used up, what is new counts as the tag around it") {
  const auto tags = std::make_unique<TagTable>();
  const TagId game = tags->find_or_add(kNoTag, "Game");
  for (std::size_t i = 1; i < TagTable::kMaxTags; ++i) {
    const std::string name = std::to_string(i);
    const TagId tag = tags->find_or_add(game, name);
    REQUIRE(tag == i + 1);
    REQUIRE(tags->find_or_add(game, name) == tag);
  }
  CHECK(tags->find_or_add(game, "one more") == game);
  CHECK(tags->find_or_add(kNoTag, "one more") == kNoTag);
  CHECK(tags->find_or_add(game, "1") == 2);
}

TEST_CASE("without memory, what is new counts as the tag around it") {
  const auto tags = std::make_unique<TagTable>();
  const TagId game = tags->find_or_add(kNoTag, "Game");
  TagId physics = kNoTag;
  {
    const StarvedArena starved;
    physics = tags->find_or_add(game, "Physics");
  }
  CHECK(physics == game);
  CHECK(tags->find_or_add(game, "Physics") != game);
}

TEST_CASE("threads that name tags at the same time agree on them") {
  constexpr std::size_t kTags = 2000;
  const auto tags = std::make_unique<TagTable>();
  std::vector<std::vector<TagId>> seen(4, std::vector<TagId>(kTags));
  std::atomic<std::size_t> ready{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < seen.size(); ++t) {
    threads.emplace_back([&, t] {
      for (++ready; ready < seen.size();) std::this_thread::yield();
      for (std::size_t i = 0; i < kTags; ++i) {
        seen[t][i] = tags->find_or_add(kNoTag, std::to_string(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& ids : seen) CHECK(ids == seen[0]);
  for (std::size_t i = 0; i < kTags; ++i) CHECK(tags->name(seen[0][i]) == std::to_string(i));
  CHECK(tags->end_id() == kTags + 1);
}
