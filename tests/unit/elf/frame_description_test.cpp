#include <doctest/doctest.h>

#include "alloctap/elf/unwind_tables.hpp"
#include "tests/unit/elf/unwind_bytes.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::elf::read_frame_description;

}  // namespace

TEST_CASE("a description says what code it is of and what happens there") {
  EhFrameWriter writer;
  const auto cie = writer.add_cie();
  const auto fde = writer.add_fde(cie, 0x40, 0x20, raw({0x41, 0x0E, 16}));
  const GuardedBytes image(writer.finish());
  const auto description = read_frame_description(image.tables(), image.address() + fde);
  REQUIRE(description.has_value());
  const std::uintptr_t begin = image.address() + EhFrameWriter::kCode + 0x40;
  CHECK(description->begin == begin);
  CHECK(description->end == begin + 0x20);
  CHECK(description->instructions.size() == 3);
  CHECK(description->common.instructions.size() == 5);
  CHECK_FALSE(description->covers(begin - 1));
  CHECK(description->covers(begin));
  CHECK(description->covers(begin + 0x1F));
  CHECK_FALSE(description->covers(begin + 0x20));
}

TEST_CASE("a range is as wide as its pointer, and relative to nothing") {
  EhFrameWriter writer;
  const auto cie = writer.add_cie({.data = raw({0x00})});
  const ByteWriter contents =
      ByteWriter().u32(writer.eh_frame().size() + 4 - cie).u64(0x401000).u64(0x30).uleb(0);
  const auto fde = writer.add_entry(contents);
  const GuardedBytes image(writer.finish());
  const auto description = read_frame_description(image.tables(), image.address() + fde);
  REQUIRE(description.has_value());
  CHECK(description->begin == 0x401000);
  CHECK(description->end == 0x401030);
}

TEST_CASE("the data of an augmentation is skipped") {
  EhFrameWriter writer;
  const auto cie = writer.add_cie();
  const auto id = writer.eh_frame().size() + 4;
  const auto with_data = [&](std::uint64_t claimed) {
    EhFrameWriter copy = writer;
    const auto fde =
        copy.add_entry(ByteWriter().u32(id - cie).u32(1).u32(1).uleb(claimed).u32(99).u8(0));
    const GuardedBytes image(copy.finish());
    const auto description = read_frame_description(image.tables(), image.address() + fde);
    return description ? static_cast<int>(description->instructions.size()) : -1;
  };
  CHECK(with_data(4) == 1);
  CHECK(with_data(5) == 0);
  CHECK(with_data(6) == -1);
  CHECK(with_data(UINT64_MAX) == -1);
}

TEST_CASE("a range that runs backwards or around is malformed") {
  EhFrameWriter writer;
  const auto cie = writer.add_cie({.data = raw({0x0C})});
  const auto id = writer.eh_frame().size() + 4;
  const auto range = [&](std::uint64_t begin, std::int64_t bytes) {
    EhFrameWriter copy = writer;
    const auto fde = copy.add_entry(ByteWriter().u32(id - cie).u64(begin).put(bytes).uleb(0));
    const GuardedBytes image(copy.finish());
    return read_frame_description(image.tables(), image.address() + fde).has_value();
  };
  CHECK(range(0x1000, 0x10));
  CHECK(range(0x1000, 0));
  CHECK_FALSE(range(0x1000, -1));
  CHECK_FALSE(range(UINT64_MAX - 3, 5));
}

TEST_CASE("a description whose CIE is none, itself, or nowhere, is malformed") {
  EhFrameWriter writer;
  const auto cie = writer.add_cie();
  const auto fde = writer.add_fde(cie, 0, 16);
  const auto id = fde + 4;
  for (const std::uint64_t distance :
       {std::uint64_t{4}, std::uint64_t{id - cie + 1}, std::uint64_t{id - cie - 1},
        std::uint64_t{id + 8}, std::uint64_t{0x7FFFFFFF}, std::uint64_t{0xFFFFFFFF}}) {
    CAPTURE(distance);
    auto bytes = writer.finish();
    const auto number = static_cast<std::uint32_t>(distance);
    std::memcpy(bytes.data() + id, &number, sizeof number);
    const GuardedBytes image(bytes);
    CHECK_FALSE(read_frame_description(image.tables(), image.address() + fde).has_value());
  }
}

TEST_CASE("a CIE is no description, nor is one that breaks off") {
  EhFrameWriter writer;
  const auto cie = writer.add_cie();
  const auto fde = writer.add_fde(cie, 0, 16);
  auto bytes = writer.eh_frame().bytes();
  {
    const GuardedBytes image(bytes);
    CHECK_FALSE(read_frame_description(image.tables(), image.address() + cie).has_value());
    CHECK(read_frame_description(image.tables(), image.address() + fde).has_value());
  }
  const std::size_t full = bytes.size() - fde - 4;
  for (std::uint32_t length = 0; length < full; ++length) {
    std::memcpy(bytes.data() + fde, &length, sizeof length);
    const GuardedBytes image(bytes);
    CHECK_FALSE(read_frame_description(image.tables(), image.address() + fde).has_value());
  }
}
