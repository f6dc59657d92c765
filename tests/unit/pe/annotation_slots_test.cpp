#include "alloctap/pe/annotation_slots.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace {

using alloctap::pe::kSlotsNumber;
using alloctap::pe::MarkedSlots;

}  // namespace

TEST_CASE("slots are found in their section, whatever the linker put between") {
  alignas(8) std::array<std::byte, 3 * sizeof(MarkedSlots) + 16> section{};
  const MarkedSlots marked{.number = kSlotsNumber, .slots = {}};
  const std::array<std::size_t, 2> places{8, 8 + sizeof(MarkedSlots) + 8};
  for (const std::size_t place : places) std::memcpy(&section[place], &marked, sizeof marked);
  std::vector<void*> found;
  alloctap::pe::visit_slots_in(section, [&](alloctap_slots& slots) { found.push_back(&slots); });
  REQUIRE(found.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(found[i] == &section[places[i] + offsetof(MarkedSlots, slots)]);
  }
}

TEST_CASE("of a section that ends amid them no slots are found") {
  alignas(8) std::array<std::byte, sizeof(MarkedSlots)> section{};
  const MarkedSlots marked{.number = kSlotsNumber, .slots = {}};
  std::memcpy(section.data(), &marked, sizeof marked);
  int found = 0;
  for (std::size_t bytes = 0; bytes < section.size(); ++bytes) {
    alloctap::pe::visit_slots_in(std::span(section).first(bytes),
                                 [&](alloctap_slots&) { ++found; });
  }
  CHECK(found == 0);
  alloctap::pe::visit_slots_in(section, [&](alloctap_slots&) { ++found; });
  CHECK(found == 1);
}
