#include "alloctap/game/level_bracket.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "alloctap/status.hpp"
#include "alloctap/tag/scoped_tags.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/path_here.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::at;
using alloctap::testing::path_here;
using alloctap::testing::says;
using alloctap::testing::ScriptedConfig;
using alloctap::testing::ScriptedStack;

template <class Test>
struct LevelConfig : ScriptedConfig<Test> {
  using Tags = ScopedTags;
};

constexpr std::array<std::uintptr_t, 1> kLoader{0x100};
constexpr std::array<std::uintptr_t, 1> kDecoder{0x200};

/// Allocates in the tag `name` inside of the present one.
template <class Tracker>
void load(std::string_view name, std::uintptr_t block, std::size_t bytes) {
  const TagScope asset{name};
  Tracker::Hook::on_allocate(at(block), bytes);
}

}  // namespace

TEST_CASE("what a level leaves is told by tag and by asset") {
  using Tracker = Tracker<LevelConfig<struct LeavingLevel>>;
  const Tag outside = current_tag();
  const Session session = testing::started<Tracker>();
  ScriptedStack::play(kLoader);
  load<Tracker>("before", 0x1000, 1);
  LevelBracket<Tracker> level{"leaving level"};
  load<Tracker>("textures/hero.png", 0x2000, 100);
  load<Tracker>("textures/tree.png", 0x3000, 7);
  {
    const TagScope streaming{"Streaming"};
    load<Tracker>("textures/hero.png", 0x4000, 50);
    ScriptedStack::play(kDecoder);
    load<Tracker>("textures/hero.png", 0x5000, 60);
  }
  Tracker::Hook::on_allocate(at(0x6000), 5);
  std::thread([] { Tracker::Hook::on_allocate(at(0x7000), 1000); }).join();
  Tracker::Hook::on_free(at(0x1000));
  Tracker::Hook::on_free(at(0x3000));

  auto found = level.finish();
  REQUIRE(found.ok());
  const LevelLeftovers left = *std::move(found);
  CHECK(current_tag().id == outside.id);
  CHECK(left.level().bytes == 215);
  CHECK(left.level().blocks == 4);
  CHECK(left.elsewhere().bytes == 1000);
  REQUIRE(left.tags().size() == 4);
  const LeakedTag& streamed = left.tags()[0];
  CHECK(streamed.path == path_here("leaving level/Streaming/textures/hero.png"));
  CHECK(streamed.asset == "textures/hero.png");
  CHECK(streamed.left.bytes == 110);
  REQUIRE(streamed.stacks.size() == 2);
  CHECK(*left.table()->frames(streamed.stacks[0].stack).begin() == kDecoder[0]);
  CHECK(left.tags()[1].path == path_here("leaving level/textures/hero.png"));
  CHECK(left.tags()[2].path == path_here("leaving level"));
  CHECK(left.tags()[2].asset.empty());
  CHECK(left.tags()[2].in_level);
  CHECK(left.tags()[3].path.empty());
  CHECK_FALSE(left.tags()[3].in_level);
  REQUIRE(left.assets().size() == 2);
  CHECK(left.assets()[0].asset == "textures/hero.png");
  CHECK(left.assets()[0].left.bytes == 210);
  CHECK(left.assets()[0].left.blocks == 3);
}

TEST_CASE("a level may be inside of another one, and what was left before it is not its own") {
  using Tracker = Tracker<LevelConfig<struct NestedLevels>>;
  const Session session = testing::started<Tracker>();
  ScriptedStack::play(kLoader);
  const std::string path = path_here("outer/inner/prop");
  LevelBracket<Tracker> outer{"outer"};
  load<Tracker>("prop", 0x1000, 10);
  LevelBracket<Tracker> inner{"inner"};
  load<Tracker>("prop", 0x2000, 20);
  const auto left_by_inner = inner.finish();
  REQUIRE(left_by_inner.ok());
  CHECK(left_by_inner->level().bytes == 20);
  CHECK(left_by_inner->tags()[0].path == path);
  const auto left_by_outer = outer.finish();
  REQUIRE(left_by_outer.ok());
  CHECK(left_by_outer->level().bytes == 30);
}

TEST_CASE("a tracker without tags tells in one row what grew") {
  using Tracker = Tracker<ScriptedConfig<struct UntaggedLevel>>;
  const Session session = testing::started<Tracker>();
  ScriptedStack::play(kLoader);
  LevelBracket<Tracker> level{"untagged"};
  load<Tracker>("prop", 0x1000, 10);
  const auto left = level.finish();
  REQUIRE(left.ok());
  REQUIRE(left->tags().size() == 1);
  CHECK(left->elsewhere().bytes == 10);
  CHECK(left->assets().empty());
}

TEST_CASE("a level that is finished at the wrong place says so") {
  using Tracker = Tracker<LevelConfig<struct MisplacedLevel>>;
  const Session session = testing::started<Tracker>();
  LevelBracket<Tracker> level{"misplaced"};
  std::optional<TagScope> open{std::in_place, "still open"};
  CHECK(says(level.finish().status(), "\"still open\""));
  open.reset();
  alloctap::Status elsewhere;
  std::thread([&] { elsewhere = level.finish().status(); }).join();
  CHECK(says(elsewhere, "another thread"));
  CHECK(level.finish().ok());
  CHECK(says(level.finish().status(), "before"));
}

TEST_CASE("a level without a session, without a name or without memory says so") {
  using Tracker = Tracker<LevelConfig<struct PoorLevel>>;
  const Tag outside = current_tag();
  LevelBracket<Tracker> too_early{"too early"};
  CHECK(says(too_early.finish().status(), "no session"));
  Session session = testing::started<Tracker>();
  LevelBracket<Tracker> nameless{""};
  CHECK(nameless.finish().status().code() == alloctap::StatusCode::kInvalidArgument);
  LevelBracket<Tracker> starving{"starving"};
  alloctap::Status status;
  {
    const testing::StarvedArena starved;
    status = starving.finish().status();
  }
  CHECK(status.code() == alloctap::StatusCode::kResourceExhausted);
  LevelBracket<Tracker> too_late{"too late"};
  session.end();
  CHECK(says(too_late.finish().status(), "no session"));
  CHECK(current_tag().id == outside.id);
}
