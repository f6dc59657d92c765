#include "alloctap/tag/tag_scope.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <thread>

#include "tests/support/offered_annotations.hpp"

using alloctap::current_tag;
using alloctap::kNoTag;
using alloctap::process_tags;
using alloctap::Tag;
using alloctap::tag_scope;

TEST_CASE("scopes nest, and each ends where it began") {
  const Tag outside = current_tag();
  {
    const tag_scope game{"Game"};
    const Tag outer = current_tag();
    CHECK(process_tags.name(outer.id) == "Game");
    {
      const tag_scope physics{std::string("Physics")};
      CHECK(process_tags.name(current_tag().id) == "Physics");
      CHECK(process_tags.parent(current_tag().id) == outer.id);
    }
    CHECK(current_tag().id == outer.id);
  }
  CHECK(current_tag().id == outside.id);
}

TEST_CASE("a scope is its thread's, and a job takes the tag along") {
  const tag_scope game{"Game"};
  const Tag tag = current_tag();
  Tag before;
  Tag inside;
  Tag after;
  std::thread([&, tag] {
    before = current_tag();
    {
      const tag_scope other{"Other"};
      const tag_scope job{tag};
      inside = current_tag();
    }
    after = current_tag();
  }).join();
  CHECK(before.id == kNoTag);
  CHECK(inside.id == tag.id);
  CHECK(after.id == kNoTag);
}

TEST_CASE("a scope without a name stays in the tag around it") {
  const tag_scope game{"Game"};
  const Tag tag = current_tag();
  const tag_scope nothing{""};
  CHECK(current_tag().id == tag.id);
}

TEST_CASE("a number that no tag has is no tag") {
  const tag_scope game{"Game"};
  for (const alloctap_tag number : {process_tags.end_id() + 0U, 0x10001U, ~0U}) {
    const alloctap_tag before = alloctap_tag_enter(number);
    CHECK(current_tag().id == kNoTag);
    alloctap_tag_end(before);
  }
  CHECK(current_tag().id != kNoTag);
}

TEST_CASE("a name may be any text, and none") {
  const tag_scope game{std::string_view("Game of 4").substr(0, 4)};
  CHECK(process_tags.name(current_tag().id) == "Game");
  const tag_scope none{static_cast<const char*>(nullptr)};
  CHECK(process_tags.name(current_tag().id) == "Game");
}

TEST_CASE("a scope of no tag leaves that of the thread") {
  const tag_scope game{"Game"};
  const tag_scope none{Tag{}};
  CHECK(current_tag().id == kNoTag);
}
