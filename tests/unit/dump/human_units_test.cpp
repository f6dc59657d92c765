#include "alloctap/dump/human_units.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace {

std::string bytes(std::uint64_t number) {
  return std::string(alloctap::human_bytes(number).view());
}
std::string commas(std::uint64_t number) {
  return std::string(alloctap::with_commas(number).view());
}
std::string percent(std::uint64_t part, std::uint64_t whole) {
  return std::string(alloctap::percent(part, whole).view());
}

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kGiB = 1024 * kMiB;

}  // namespace

TEST_CASE("one of anything is said in the singular") {
  const auto count = [](std::uint64_t number, std::string_view noun) {
    return std::string(alloctap::counted(number, noun).view());
  };
  CHECK(count(0, "block") == "0 blocks");
  CHECK(count(1, "block") == "1 block");
  CHECK(count(1234, "allocation") == "1,234 allocations");
  CHECK(count(UINT64_MAX, "deallocation") == "18,446,744,073,709,551,615 deallocations");
}

TEST_CASE("bytes below 1024 are exact") {
  CHECK(bytes(0) == "0 B");
  CHECK(bytes(1) == "1 B");
  CHECK(bytes(1000) == "1000 B");
  CHECK(bytes(1023) == "1023 B");
}

TEST_CASE("more bytes have one decimal, in the unit that keeps them below 1024") {
  CHECK(bytes(1024) == "1.0 KiB");
  CHECK(bytes(1025) == "1.0 KiB");
  CHECK(bytes(1536) == "1.5 KiB");
  CHECK(bytes(10 * kKiB + 100) == "10.1 KiB");
  CHECK(bytes(1023 * kKiB) == "1023.0 KiB");
  CHECK(bytes(kMiB) == "1.0 MiB");
  CHECK(bytes(23 * kMiB) == "23.0 MiB");
  CHECK(bytes(kGiB) == "1.0 GiB");
  CHECK(bytes(kGiB * 1024) == "1.0 TiB");
  CHECK(bytes(kGiB * kMiB) == "1.0 PiB");
  CHECK(bytes(kGiB * kGiB) == "1.0 EiB");
  CHECK(bytes(UINT64_MAX) == "16.0 EiB");
}

TEST_CASE("what would be rounded up to 1024.0 is shown in the next unit") {
  CHECK(bytes(kMiB - 1) == "1.0 MiB");
  CHECK(bytes(kMiB - 52) == "1023.9 KiB");
  CHECK(bytes(kMiB - 51) == "1.0 MiB");
  CHECK(bytes(kMiB - 103) == "1023.9 KiB");
  CHECK(bytes(kGiB - 1) == "1.0 GiB");
  CHECK(bytes(kGiB - 100 * kKiB) == "1023.9 MiB");
}

TEST_CASE("decimals are rounded, half up") {
  CHECK(bytes(kKiB + 51) == "1.0 KiB");
  CHECK(bytes(kKiB + 52) == "1.1 KiB");
  CHECK(bytes(100 * kKiB - 52) == "99.9 KiB");
  CHECK(bytes(100 * kKiB - 51) == "100.0 KiB");
}

TEST_CASE("thousands are set apart") {
  CHECK(commas(0) == "0");
  CHECK(commas(12) == "12");
  CHECK(commas(999) == "999");
  CHECK(commas(1000) == "1,000");
  CHECK(commas(12345) == "12,345");
  CHECK(commas(123456) == "123,456");
  CHECK(commas(1234567) == "1,234,567");
  CHECK(commas(UINT64_MAX) == "18,446,744,073,709,551,615");
}

TEST_CASE("a part is a percentage of the whole, and of nothing it is none") {
  CHECK(percent(0, 0) == "0.0 %");
  CHECK(percent(5, 0) == "0.0 %");
  CHECK(percent(0, 10) == "0.0 %");
  CHECK(percent(10, 10) == "100.0 %");
  CHECK(percent(1, 3) == "33.3 %");
  CHECK(percent(2, 3) == "66.7 %");
  CHECK(percent(412, 1000) == "41.2 %");
  CHECK(percent(UINT64_MAX, UINT64_MAX) == "100.0 %");
  CHECK(percent(UINT64_MAX / 2, UINT64_MAX) == "50.0 %");
}

TEST_CASE("a short text keeps as much as it has room for") {
  alloctap::ShortText text;
  for (int i = 0; i < 10; ++i) text.append("0123456789");
  CHECK(text.view() == "0123456789012345678901234567890123456789");
}
