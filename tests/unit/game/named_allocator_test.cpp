#include "alloctap/game/named_allocator.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/snapshot/by_tag.hpp"
#include "alloctap/tag/scoped_tags.hpp"
#include "tests/support/path_here.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::at;
using alloctap::testing::path_here;
using alloctap::testing::ScriptedConfig;
using alloctap::testing::ScriptedStack;

template <class Test>
struct NamedConfig : ScriptedConfig<Test> {
  using Tags = ScopedTags;
};

/// The summary of the tag with that path; one of nothing where there is none.
template <class Tracker>
TagSummary summary_of(std::string_view path) {
  const Snapshot snapshot = testing::snapshot_of<Tracker>();
  const TagPaths paths(snapshot.tags);
  const auto sums = by_tag(snapshot);
  REQUIRE(sums.ok());
  for (const TagSummary& sum : *sums) {
    if (paths.of(sum.tag) == path) return sum;
  }
  return {};
}

constexpr std::array<std::uintptr_t, 1> kCaller{0x100};

}  // namespace

TEST_CASE("what a named allocator hands out is its tag's, wherever it is called") {
  using Tracker = Tracker<NamedConfig<struct HandsOut>>;
  const Session session = testing::started<Tracker>();
  ScriptedStack::play(kCaller);
  const NamedAllocator<Tracker::Hook> arena{"HandsOut"};
  const TagScope game{"Game of HandsOut"};
  const NamedAllocator<Tracker::Hook> inner{"Inner", current_tag()};
  arena.on_allocate(at(0x1000), 100);
  arena.on_allocate(at(0x2000), 50);
  arena.on_allocate(at(0x3000), 7);
  inner.on_allocate(at(0x4000), 5);
  arena.on_free(at(0x3000));
  arena.end_reallocate(arena.begin_reallocate(at(0x2000)), at(0x5000), 80);
  CHECK(current_tag().id != arena.tag().id);
  CHECK(summary_of<Tracker>("HandsOut").own.live_bytes == 180);
  CHECK(summary_of<Tracker>("HandsOut").own.live_allocations == 2);
  CHECK(summary_of<Tracker>(path_here("")).own.live_bytes == 0);
  CHECK(summary_of<Tracker>(path_here("Inner")).own.live_bytes == 5);
}

TEST_CASE("overheads of allocators with one name add up, and end with them") {
  using Tracker = Tracker<NamedConfig<struct AddsUp>>;
  const Session session = testing::started<Tracker>();
  std::optional<NamedAllocator<Tracker::Hook>> one{std::in_place, "AddsUp"};
  NamedAllocator<Tracker::Hook> other{"AddsUp"};
  one->set_overhead(1000);
  one->set_overhead(600);
  other.add_overhead(50);
  other.add_overhead(-10);
  CHECK(summary_of<Tracker>("AddsUp").overhead_bytes == 640);
  CHECK(summary_of<Tracker>("AddsUp").own.live_bytes == 0);
  one.reset();
  CHECK(summary_of<Tracker>("AddsUp").overhead_bytes == 40);
  other.add_overhead(-100);
  CHECK(summary_of<Tracker>("AddsUp").overhead_bytes == 0);
}

TEST_CASE("an allocator without a name is nobody's") {
  using Tracker = Tracker<NamedConfig<struct Nameless>>;
  const Session session = testing::started<Tracker>();
  ScriptedStack::play(kCaller);
  NamedAllocator<Tracker::Hook> nameless{""};
  nameless.set_overhead(1000);
  nameless.on_allocate(at(0x1000), 10);
  CHECK(summary_of<Tracker>("").own.live_bytes == 10);
  CHECK(summary_of<Tracker>("").overhead_bytes == 0);
}

TEST_CASE("reports show an overhead beside what is live") {
  using Tracker = Tracker<NamedConfig<struct Reported>>;
  const Session session = testing::started<Tracker>();
  ScriptedStack::play(kCaller);
  NamedAllocator<Tracker::Hook> arena{"Reported"};
  arena.on_allocate(at(0x1000), 2048);
  arena.set_overhead(4096);
  MemoryOutput text;
  REQUIRE(Tracker::dump(TextDump{}, text).ok());
  CHECK(text.text().find("Reported\n    and 4.0 KiB that its allocator holds beyond that\n") !=
        std::string::npos);
  MemoryOutput json;
  REQUIRE(Tracker::dump(JsonDump{}, json).ok());
  CHECK(json.text().find("\"overhead_bytes\":4096") != std::string::npos);
}
