#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "alloctap/arch/aarch64/entry_patch.hpp"
#include "alloctap/arch/aarch64/relocated_code.hpp"

namespace {

using namespace alloctap::arch::aarch64;

std::vector<std::uintptr_t> places_around(std::uintptr_t start) {
  std::vector<std::uintptr_t> places;
  CHECK_FALSE(visit_island_places(start, [&](std::uintptr_t place) {
    places.push_back(place);
    return false;
  }));
  return places;
}

}  // namespace

TEST_CASE("a branch reaches every island, and every byte of an island the way back") {
  for (const std::uintptr_t start : {0x7F0012345678U + 0x100000000U, 0x7F0012348000U + 0U}) {
    const auto places = places_around(start);
    CHECK(places.size() == 2 * (8192 - 1));
    CHECK(std::set(places.begin(), places.end()).size() == places.size());
    bool reach = true;
    for (const std::uintptr_t place : places) {
      reach &= is_branch_in_reach(start, place) && place % 16 == 0;
      reach &= is_branch_in_reach(place, start + 4);
      reach &= is_branch_in_reach(place + EntryPatch::kIslandBytes, start + 4);
    }
    CHECK(reach);
  }
}

TEST_CASE("islands lie below the function first, near ones before far ones, none below zero") {
  constexpr std::uintptr_t kHigh = 0x7F0012345678;
  const auto places = places_around(kHigh);
  CHECK(kHigh - places.front() < 0x8000);
  CHECK(places[places.size() / 2 - 1] < kHigh);
  CHECK(places[places.size() / 2] > kHigh);
  for (const std::uintptr_t place : places_around(0x401000)) {
    if (place == 0 || place > 0x401000 + (std::uintptr_t{1} << 27)) FAIL("wrapped around");
  }
}

TEST_CASE("the visit of islands' places ends when one is taken") {
  int visited = 0;
  CHECK(visit_island_places(0x7F0012345678, [&](std::uintptr_t) { return ++visited == 3; }));
  CHECK(visited == 3);
}
