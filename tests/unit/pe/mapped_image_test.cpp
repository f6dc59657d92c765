#include "alloctap/pe/mapped_image.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "alloctap/pe/unwind_info.hpp"

namespace {

using namespace alloctap::pe;

constexpr std::size_t kHeaders = 0x80;

template <class Number>
void write(std::vector<std::byte>& file, std::size_t place, Number number) {
  std::memcpy(file.data() + place, &number, sizeof number);
}

/// The headers of a PE file of 64 bits, as far as they are read.
std::vector<std::byte> headers() {
  std::vector<std::byte> file(0x400);
  write<std::uint16_t>(file, 0, 0x5A4D);
  write<std::uint32_t>(file, 0x3C, kHeaders);
  write<std::uint32_t>(file, kHeaders, 0x4550);
  write<std::uint32_t>(file, kHeaders + 8, 0x12345678);
  write<std::uint16_t>(file, kHeaders + 24, 0x20B);
  write<std::uint32_t>(file, kHeaders + 80, 0x9000);
  write<std::uint32_t>(file, kHeaders + 160, 0x200);
  write<std::uint32_t>(file, kHeaders + 164, 24);
  return file;
}

}  // namespace

TEST_CASE("a PE file says where its module ends, and when it was linked") {
  const auto file = headers();
  const auto image = read_mapped_image(file, 0x140000000);
  REQUIRE(image);
  CHECK(image->bias == 0x140000000);
  CHECK(image->end == 0x140009000);
  constexpr std::uint8_t kExpected[] = {0x78, 0x56, 0x34, 0x12, 0x00, 0x90, 0x00, 0x00};
  CHECK(std::memcmp(image->build_id.data(), kExpected, sizeof kExpected) == 0);
}

TEST_CASE("what is no PE file of 64 bits, or is cut off, is no image") {
  for (const std::size_t place : {std::size_t{0}, kHeaders, kHeaders + 24}) {
    auto file = headers();
    write<std::uint16_t>(file, place, 0x10B);
    CHECK_FALSE(read_mapped_image(file, 0));
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{63}, kHeaders + 3, kHeaders + 83}) {
    auto file = headers();
    file.resize(size);
    CHECK_FALSE(read_mapped_image(file, 0));
  }
  auto far_away = headers();
  write<std::uint32_t>(far_away, 0x3C, 0xFFFFFFFF);
  CHECK_FALSE(read_mapped_image(far_away, 0));
}

TEST_CASE("the table of functions is where the headers say, if that lies inside") {
  const auto file = headers();
  const auto functions = find_functions(file);
  CHECK(functions.size() == 2);
  CHECK(reinterpret_cast<const std::byte*>(functions.data()) == file.data() + 0x200);
  auto outside = headers();
  write<std::uint32_t>(outside, kHeaders + 164, 0x201);
  CHECK(find_functions(outside).empty());
  auto odd = headers();
  write<std::uint32_t>(odd, kHeaders + 160, 0x201);
  CHECK(find_functions(odd).empty());
}
