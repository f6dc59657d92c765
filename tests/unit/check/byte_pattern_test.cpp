#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "alloctap/check/misuse.hpp"

using alloctap::ChangedBytes;
using alloctap::find_changes;
using alloctap::kRearGuardByte;

namespace {

std::vector<std::uint8_t> guard_of(std::size_t bytes) {
  return std::vector<std::uint8_t>(bytes, kRearGuardByte);
}

}  // namespace

TEST_CASE("bytes that are as they were are no change, however many") {
  for (const std::size_t bytes : {0U, 1U, 2U, 15U, 16U, 17U, 1000U}) {
    const auto guard = guard_of(bytes);
    CHECK(find_changes(guard.data(), bytes, kRearGuardByte, guard.data()).count == 0);
  }
}

TEST_CASE("changes of several parts are one change, from the first to the last") {
  auto guard = guard_of(100);
  guard[3] = guard[50] = guard[60] = 1;
  const auto changes_in = [&](std::size_t begin, std::size_t bytes) {
    return find_changes(guard.data() + begin, bytes, kRearGuardByte, guard.data());
  };
  ChangedBytes changes = changes_in(10, 10);
  for (const std::size_t begin : {0U, 20U, 45U, 80U}) changes.add(changes_in(begin, 20));
  CHECK(changes.count == 3);
  CHECK(changes.first == 3);
  CHECK(changes.last == 60);
  CHECK(changes.found[0] == 1);
  CHECK(changes.expected == kRearGuardByte);
}

TEST_CASE("each changed byte is found, at its offset from the block") {
  for (const std::size_t at : {0U, 1U, 7U, 30U, 31U}) {
    CAPTURE(at);
    auto guard = guard_of(32);
    guard[at] = 1;
    const ChangedBytes changed = find_changes(guard.data(), 32, kRearGuardByte, guard.data() + 8);
    CHECK(changed.count == 1);
    CHECK(changed.first == static_cast<std::int64_t>(at) - 8);
    CHECK(changed.last == changed.first);
    CHECK(changed.expected == kRearGuardByte);
    CHECK(changed.shown == std::min<std::size_t>(32 - at, ChangedBytes::kMaxShown));
    CHECK(changed.found[0] == 1);
  }
}

TEST_CASE("of several the first and the last are told, and what stands from the first on") {
  auto guard = guard_of(32);
  guard[3] = 7;
  guard[5] = 8;
  guard[29] = 9;
  const ChangedBytes changed = find_changes(guard.data(), 32, kRearGuardByte, guard.data());
  CHECK(changed.count == 3);
  CHECK(changed.first == 3);
  CHECK(changed.last == 29);
  CHECK(changed.shown == 16);
  CHECK(changed.found[0] == 7);
  CHECK(changed.found[1] == kRearGuardByte);
  CHECK(changed.found[2] == 8);
}

TEST_CASE("bytes that all became another one are all changed") {
  const std::vector<std::uint8_t> guard(16, 0);
  CHECK(find_changes(guard.data(), 16, kRearGuardByte, guard.data()).count == 16);
}
