#include "alloctap/tag/inherited_tags.hpp"

#include <doctest/doctest.h>

#include <future>
#include <thread>

#include "tests/support/offered_annotations.hpp"

namespace {

using alloctap::InheritedTags;
using alloctap::kNoTag;
using alloctap::nested_tag;
using alloctap::ProcessTag;
using alloctap::Tag;
using alloctap::TagId;

TagId inherited_tag() { return InheritedTags::current(*alloctap::ThreadStates::mine()).tag; }

}  // namespace

TEST_CASE("a thread keeps the tag that the process was in when it allocated first") {
  const Tag first = nested_tag("first case");
  const Tag second = nested_tag("second case");
  REQUIRE(first.id != second.id);
  // Of no tag, unless the test runs under a tracker.
  const TagId outside = inherited_tag();
  std::promise<void> went_on;
  TagId begun = kNoTag;
  TagId later = kNoTag;
  TagId inside = kNoTag;
  std::thread thread;
  {
    const ProcessTag one{first};
    CHECK(inherited_tag() == first.id);
    std::promise<void> has_begun;
    thread = std::thread([&] {
      begun = inherited_tag();
      has_begun.set_value();
      went_on.get_future().wait();
      later = inherited_tag();
      const alloctap::tag_scope job{second};
      inside = inherited_tag();
    });
    has_begun.get_future().wait();
  }
  CHECK(inherited_tag() == outside);
  {
    const ProcessTag two{second};
    went_on.set_value();
    thread.join();
    CHECK(inherited_tag() == second.id);
  }
  CHECK(begun == first.id);
  CHECK(later == first.id);
  CHECK(inside == second.id);
  std::thread([&] { begun = inherited_tag(); }).join();
  CHECK(begun == outside);
}

TEST_CASE("a thread that began outside of a tag never takes it") {
  std::promise<void> has_begun;
  std::promise<void> went_on;
  const TagId outside = inherited_tag();
  TagId begun = kNoTag;
  TagId later = kNoTag;
  std::thread thread([&] {
    begun = inherited_tag();
    has_begun.set_value();
    went_on.get_future().wait();
    later = inherited_tag();
  });
  has_begun.get_future().wait();
  const ProcessTag tag{nested_tag("some case")};
  went_on.set_value();
  thread.join();
  CHECK(begun == outside);
  CHECK(later == begun);
}
