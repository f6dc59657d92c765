#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <vector>

#include "alloctap/arch/x86_64/text_store.hpp"

namespace {

using namespace alloctap::arch::x86_64;

constexpr std::uintptr_t kHigh = 0x7F0012345678;

/// Code at `start` with instructions that begin at these offsets.
DisplacedCode code_at(std::uintptr_t start, std::initializer_list<std::size_t> offsets) {
  DisplacedCode displaced;
  displaced.start = start;
  for (const std::size_t offset : offsets) {
    displaced.instructions[displaced.count++].address = start + offset;
  }
  return displaced;
}

std::vector<std::uintptr_t> places_of(const DisplacedCode& displaced) {
  std::vector<std::uintptr_t> places;
  CHECK_FALSE(visit_stub_places(displaced, [&](std::uintptr_t place) {
    places.push_back(place);
    return false;
  }));
  return places;
}

std::array<std::uint8_t, 4> displacement_bytes(const DisplacedCode& displaced,
                                               std::uintptr_t place) {
  const std::uintptr_t displacement = place - (displaced.start + kPatchBytes);
  const auto byte = [&](int number) {
    return static_cast<std::uint8_t>(displacement >> (8 * number));
  };
  return {byte(0), byte(1), byte(2), byte(3)};
}

bool is_trap(std::uint8_t byte) { return std::ranges::find(kTrapBytes, byte) != kTrapBytes.end(); }

}  // namespace

TEST_CASE("every byte at which an instruction began traps, whatever begins where") {
  for (unsigned bits = 0; bits < 16; ++bits) {
    DisplacedCode displaced = code_at(kHigh, {0});
    for (std::size_t i = 0; i < 4; ++i) {
      if ((bits >> i & 1) != 0) {
        displaced.instructions[displaced.count++].address = kHigh + i + 1;
      }
    }
    INFO("bits ", bits);
    const auto places = places_of(displaced);
    CHECK(places.size() >= 16);
    bool all_trap = true;
    for (const std::uintptr_t place : places) {
      const auto bytes = displacement_bytes(displaced, place);
      for (std::size_t i = 0; i < 4; ++i) all_trap &= (bits >> i & 1) == 0 || is_trap(bytes[i]);
      const auto distance = static_cast<std::int64_t>(place - (kHigh + kPatchBytes));
      all_trap &= distance == static_cast<std::int32_t>(distance);
    }
    CHECK(all_trap);
    CHECK(std::set(places.begin(), places.end()).size() == places.size());
  }
}

TEST_CASE("places lie below the function first, near ones before far ones") {
  const DisplacedCode displaced = code_at(kHigh, {0});
  const auto places = places_of(displaced);
  CHECK(places.size() == 4 * 65536);
  CHECK(kHigh - places.front() < 65536);
  CHECK(places[places.size() / 2 - 1] < kHigh);
  CHECK(places[places.size() / 2] > kHigh);
}

TEST_CASE("no place lies below the first address") {
  for (const std::uintptr_t place : places_of(code_at(0x401000, {0, 4}))) {
    if (place > 0x401000 + (std::uintptr_t{1} << 31)) FAIL("wrapped around");
  }
}

TEST_CASE("the visit ends when a place is taken") {
  int visited = 0;
  CHECK(
      visit_stub_places(code_at(kHigh, {0, 1, 4}), [&](std::uintptr_t) { return ++visited == 3; }));
  CHECK(visited == 3);
}
