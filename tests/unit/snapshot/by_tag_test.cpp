#include "alloctap/snapshot/by_tag.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/support/tagged_report.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::SampleReport;
using alloctap::testing::StarvedArena;
using alloctap::testing::TaggedReport;

}  // namespace

TEST_CASE("memory is summed up by tag, and what holds other tags has theirs too") {
  const TaggedReport sample;
  const auto sums = by_tag(sample.snapshot);
  REQUIRE(sums.ok());
  REQUIRE(sums->size() == 5);
  CHECK((*sums)[0].tag == kNoTag);
  CHECK((*sums)[0].own.live_bytes == 1089538);
  CHECK((*sums)[0].with_nested.live_bytes == 1089538);
  CHECK((*sums)[1].tag == sample.voice);
  CHECK((*sums)[1].own.live_bytes == 300);
  CHECK((*sums)[1].own.live_allocations == 3);
  CHECK((*sums)[1].own.total.allocations == 50);
  CHECK((*sums)[1].own.total.allocated_bytes == 5000);
  CHECK((*sums)[1].own.total.temporary_allocations == 5);
  CHECK((*sums)[2].tag == sample.physics);
  CHECK((*sums)[3].tag == sample.game);
  CHECK((*sums)[3].own.total.allocations == 0);
  CHECK((*sums)[3].with_nested.live_bytes == 500);
  CHECK((*sums)[3].with_nested.total.allocations == 60);
  // Between Game and Voice; by id where nothing is their own.
  CHECK((*sums)[4].with_nested.live_bytes == 300);
}

TEST_CASE("without tags all memory is in one row") {
  const SampleReport sample;
  const auto sums = by_tag(sample.snapshot);
  REQUIRE(sums.ok());
  REQUIRE(sums->size() == 1);
  CHECK((*sums)[0].tag == kNoTag);
  CHECK((*sums)[0].own.live_allocations == 13);
}

TEST_CASE("growth is summed up by tag") {
  const SampleReport before;
  const TaggedReport after;
  SnapshotDiff difference;
  difference.table = after.snapshot.table;
  for (const StackSummary& stack : after.snapshot.stacks) {
    if (!after.snapshot.table->owner(stack.stack).is_empty()) {
      REQUIRE(difference.stacks.push_back({stack.stack, change_between({}, stack)}));
    }
  }
  const auto sums = by_tag(difference);
  REQUIRE(sums.ok());
  REQUIRE(sums->size() == 2);
  CHECK((*sums)[0].tag == after.physics);
  CHECK((*sums)[0].change.live_bytes == 200);
  CHECK((*sums)[1].tag == after.voice);
  CHECK((*sums)[1].change.live_bytes == 300);
  CHECK((*sums)[1].change.allocations == 50);
}

TEST_CASE("without memory by_tag fails") {
  const TaggedReport sample;
  const StarvedArena starved;
  CHECK(by_tag(sample.snapshot).status().code() == alloctap::StatusCode::kResourceExhausted);
}

TEST_CASE("a tag's path begins with the outermost one") {
  const TaggedReport sample;
  const TagPaths paths(sample.snapshot.tags);
  CHECK(paths.complete());
  CHECK(paths.of(sample.voice) == "Game/Sound/Voice");
  CHECK(paths.of(sample.game) == "Game");
  CHECK(paths.of(kNoTag).empty());
  CHECK(paths.of(1000).empty());
  CHECK(TagPaths(nullptr).of(1).empty());
}

TEST_CASE("a path that is too long is cut") {
  const auto tags = std::make_unique<TagTable>();
  TagId tag = kNoTag;
  const std::string name(TagTable::kLongestName, 'x');
  for (int i = 0; i < 6; ++i) tag = tags->find_or_add(tag, name);
  const TagPaths paths(tags.get());
  CHECK(paths.complete());
  CHECK(paths.of(tag).size() == TagPaths::kLongest);
  CHECK(paths.of(tag).starts_with(name + "/" + name));
}
