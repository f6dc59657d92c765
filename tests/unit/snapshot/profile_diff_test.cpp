#include "alloctap/snapshot/profile_diff.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::StarvedArena;

/// A profile of a program at `base` whose build is `build`.
struct Profile {
  explicit Profile(std::uintptr_t base, std::uint8_t build = 1, std::string_view path = "/opt/game")
      : base_(base) {
    Module module{.start = base, .end = base + 0x10000, .bias = base, .path = path};
    module.build_id_bytes = 1;
    module.build_id[0] = std::byte{build};
    REQUIRE(profile.modules.push_back(module));
  }

  std::uint64_t frame(std::uint64_t offset, std::string_view function) {
    const std::size_t first = profile.sources.size();
    REQUIRE(profile.sources.push_back({.function = function}));
    REQUIRE(profile.frames.push_back({.address = base_ + offset + 1,
                                      .module = 0,
                                      .offset = offset,
                                      .first_source = first,
                                      .sources = 1}));
    return profile.frames.size() - 1;
  }

  void stack(const std::vector<std::uint64_t>& frames, std::uint64_t blocks, std::uint64_t bytes) {
    const std::size_t first = profile.frame_numbers.size();
    for (const std::uint64_t number : frames) REQUIRE(profile.frame_numbers.push_back(number));
    REQUIRE(profile.stacks.push_back(
        {.sums = {.total = {blocks, bytes, 0}, .live_allocations = blocks, .live_bytes = bytes},
         .first_frame = first,
         .frames = frames.size()}));
  }

  SavedProfile profile;

 private:
  std::uintptr_t base_;
};

ProfileDiff diff_of(const Profile& before, const Profile& after,
                    StackMatch match = StackMatch::kPlaces) {
  auto result = diff(before.profile, after.profile, match);
  REQUIRE(result.ok());
  sort_by_growth(result->stacks);
  return *std::move(result);
}

}  // namespace

TEST_CASE("stacks of two runs are matched by their places in the files") {
  Profile before(0x100000);
  before.stack({before.frame(0x10, "f")}, 1, 100);
  before.stack({before.frame(0x20, "g")}, 5, 50);
  before.stack({before.frame(0x30, "h")}, 1, 1);
  Profile after(0x900000);
  after.stack({after.frame(0x30, "h")}, 1, 1);
  after.stack({after.frame(0x10, "f")}, 3, 300);
  after.stack({after.frame(0x40, "i")}, 1, 8);
  const ProfileDiff change = diff_of(before, after);
  REQUIRE(change.stacks.size() == 3);
  CHECK(change.stacks[0].change == HeapChange{2, 200, 2, 200, 0});
  CHECK(change.stacks[0].live_bytes_before == 100);
  CHECK(change.stacks[0].live_bytes_after == 300);
  CHECK(change.stacks[0].before == &before.profile.stacks[0]);
  CHECK(change.stacks[0].after == &after.profile.stacks[1]);
  CHECK(change.stacks[1].before == nullptr);
  CHECK(change.stacks[1].change.live_bytes == 8);
  CHECK(change.stacks[2].after == nullptr);
  CHECK(change.stacks[2].change == HeapChange{-5, -50, -5, -50, 0});
  CHECK(change.total == HeapChange{-2, 158, -2, 158, 0});
}

TEST_CASE("another build has other places, and the same functions") {
  Profile before(0x100000, 1);
  before.stack({before.frame(0x10, "f")}, 1, 100);
  Profile after(0x100000, 2, "/home/me/game");
  after.stack({after.frame(0x18, "f")}, 2, 150);
  CHECK(diff_of(before, after).stacks.size() == 2);
  const ProfileDiff change = diff_of(before, after, StackMatch::kFunctions);
  REQUIRE(change.stacks.size() == 1);
  CHECK(change.stacks[0].change == HeapChange{1, 50, 1, 50, 0});
}

TEST_CASE("stacks of one profile with one key are one") {
  Profile before(0x100000);
  Profile after(0x100000);
  after.stack({after.frame(0x10, "f")}, 1, 100);
  after.stack({after.frame(0x20, "f")}, 2, 11);
  CHECK(diff_of(before, after).stacks.size() == 2);
  const ProfileDiff change = diff_of(before, after, StackMatch::kFunctions);
  REQUIRE(change.stacks.size() == 1);
  CHECK(change.stacks[0].change.live_bytes == 111);
  CHECK(change.stacks[0].live_bytes_after == 111);
}

TEST_CASE("functions of one name in two files are two") {
  Profile before(0x100000);
  before.stack({before.frame(0x10, "f")}, 1, 100);
  Profile after(0x100000, 1, "/opt/tool");
  after.stack({after.frame(0x10, "f")}, 1, 100);
  CHECK(diff_of(before, after, StackMatch::kFunctions).stacks.size() == 2);
}

TEST_CASE("a function without a name is matched by its place") {
  Profile before(0x100000);
  before.stack({before.frame(0x10, "")}, 1, 100);
  before.stack({before.frame(0x20, "")}, 1, 10);
  Profile after(0x900000, 2);
  after.stack({after.frame(0x10, "")}, 1, 100);
  const ProfileDiff change = diff_of(before, after, StackMatch::kFunctions);
  REQUIRE(change.stacks.size() == 1);
  CHECK(change.stacks[0].change.live_bytes == -10);
}

TEST_CASE("a profile does not differ from itself") {
  Profile one(0x100000);
  one.stack({one.frame(0x10, "f")}, 1, 100);
  one.stack({}, 1, 5);
  CHECK(diff_of(one, one).stacks.empty());
  CHECK(diff_of(one, one).total == HeapChange{});
}

TEST_CASE("without memory for it there is an error") {
  Profile after(0x100000);
  for (std::uint64_t i = 0; i < 50'000; ++i) after.stack({after.frame(i, "f")}, 1, 1);
  const StarvedArena starved;
  CHECK(diff(SavedProfile{}, after.profile).status().code() ==
        alloctap::StatusCode::kResourceExhausted);
}
