#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "alloctap/pe/mapped_image.hpp"

namespace {

using alloctap::pe::has_written_section;

constexpr std::size_t kPlaceOfHeaders = 0x80;
constexpr std::size_t kFirstRow = kPlaceOfHeaders + 24 + 0xF0;
constexpr std::uint32_t kReads = 0x4000'0000;
constexpr std::uint32_t kReadsAndWrites = 0xC000'0000;

template <class Number>
void put(std::vector<std::byte>& file, std::size_t place, Number number) {
  std::memcpy(file.data() + place, &number, sizeof number);
}

void put_section(std::vector<std::byte>& file, std::size_t number, std::uint32_t size,
                 std::uint32_t place, std::uint32_t flags) {
  put(file, kFirstRow + 40 * number + 8, size);
  put(file, kFirstRow + 40 * number + 12, place);
  put(file, kFirstRow + 40 * number + 36, flags);
}

/// .rdata at 0x1000, two of them; .bss at 0x3000; .CRT at 0x4000.
std::vector<std::byte> file_with_sections() {
  std::vector<std::byte> file(kFirstRow + 4 * 40);
  put<std::uint16_t>(file, 0, 0x5A4D);
  put<std::uint32_t>(file, 0x3C, kPlaceOfHeaders);
  put<std::uint32_t>(file, kPlaceOfHeaders, 0x4550);
  put<std::uint16_t>(file, kPlaceOfHeaders + 6, 4);
  put<std::uint16_t>(file, kPlaceOfHeaders + 20, 0xF0);
  put<std::uint16_t>(file, kPlaceOfHeaders + 24, 0x20B);
  put_section(file, 0, 0xE00, 0x1000, kReads);
  put_section(file, 1, 0x1000, 0x2000, kReads);
  put_section(file, 2, 0x800, 0x3000, kReadsAndWrites);
  put_section(file, 3, 0, 0x4000, kReadsAndWrites);
  return file;
}

}  // namespace

TEST_CASE("a PE file says which of its parts are for writing") {
  const auto file = file_with_sections();
  CHECK(has_written_section(file, 0, 0x1000) == false);
  CHECK(has_written_section(file, 0x1000, 0x3000) == false);
  CHECK(has_written_section(file, 0x2000, 0x3001) == true);
  CHECK(has_written_section(file, 0x3000, 0x4000) == true);
  CHECK(has_written_section(file, 0x3800, 0x4000) == false);
  CHECK(has_written_section(file, 0x4000, 0x5000) == true);
}

TEST_CASE("the sections of a PE file have names of at most eight bytes") {
  auto file = file_with_sections();
  std::memcpy(file.data() + kFirstRow, ".alctap", 7);
  std::memcpy(file.data() + kFirstRow + 40, ".longest", 8);
  std::vector<std::string> names;
  CHECK(alloctap::pe::visit_sections(file, [&](const alloctap::pe::SectionRow& section) {
    names.push_back(std::string(section.name) + " " + std::to_string(section.begin));
  }));
  CHECK(names == std::vector<std::string>{".alctap 4096", ".longest 8192", " 12288", " 16384"});
}

TEST_CASE("what is no PE file, or is cut off in its table of sections, does not say") {
  auto file = file_with_sections();
  file.resize(file.size() - 1);
  CHECK(has_written_section(file, 0x1000, 0x3000) == std::nullopt);
  file.resize(kPlaceOfHeaders + 21);
  CHECK(has_written_section(file, 0x1000, 0x3000) == std::nullopt);
  file = file_with_sections();
  put<std::uint16_t>(file, 0, 0x7F45);
  CHECK(has_written_section(file, 0x1000, 0x3000) == std::nullopt);
}
