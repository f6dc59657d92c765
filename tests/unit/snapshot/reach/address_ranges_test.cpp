#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

#include "alloctap/snapshot/reach/scan_layout.hpp"

namespace {

using alloctap::AddressRange;
using alloctap::AddressRanges;

AddressRanges ranges_of(std::initializer_list<AddressRange> ranges) {
  AddressRanges settled;
  for (const AddressRange& range : ranges) REQUIRE(settled.add(range));
  settled.settle();
  return settled;
}

auto write_to(std::string& text) {
  return [&text](AddressRange part) {
    text += std::to_string(part.start) + '-' + std::to_string(part.end) + ' ';
  };
}

std::string inside(const AddressRanges& ranges, AddressRange range) {
  std::string text;
  ranges.for_each_inside(range, write_to(text));
  return text;
}

std::string outside(const AddressRanges& ranges, AddressRange range) {
  std::string text;
  ranges.for_each_outside(range, write_to(text));
  return text;
}

}  // namespace

TEST_CASE("ranges of addresses are joined where they overlap or touch") {
  const AddressRanges ranges =
      ranges_of({{50, 60}, {10, 20}, {20, 30}, {55, 58}, {58, 70}, {80, 80}});
  CHECK(inside(ranges, {0, 100}) == "10-30 50-70 ");
}

TEST_CASE("a range is parted in what a set of addresses holds and what it does not") {
  const AddressRanges ranges = ranges_of({{10, 20}, {30, 40}});
  CHECK(inside(ranges, {15, 35}) == "15-20 30-35 ");
  CHECK(outside(ranges, {15, 35}) == "20-30 ");
  CHECK(inside(ranges, {20, 30}) == "");
  CHECK(outside(ranges, {20, 30}) == "20-30 ");
  CHECK(outside(ranges, {0, 100}) == "0-10 20-30 40-100 ");
  CHECK(outside(ranges, {11, 12}) == "");
  CHECK(outside(ranges_of({}), {1, 2}) == "1-2 ");
}

TEST_CASE("a set of addresses knows what it touches") {
  const AddressRanges ranges = ranges_of({{10, 20}});
  CHECK(ranges.touches({0, 11}));
  CHECK(ranges.touches({19, 30}));
  CHECK(ranges.touches({12, 13}));
  CHECK_FALSE(ranges.touches({0, 10}));
  CHECK_FALSE(ranges.touches({20, 30}));
}
