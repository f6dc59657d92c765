#include "alloctap/elf/byte_reader.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <optional>

#include "tests/unit/elf/unwind_bytes.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::elf::ByteReader;

/// What a reader of exactly these bytes makes of them; nothing where it fails or leaves some.
template <class Read>
auto read_all(std::initializer_list<unsigned> values, Read&& read) {
  const GuardedBytes bytes(raw(values));
  ByteReader reader(bytes.span());
  std::optional result(read(reader));
  if (!reader.ok() || !reader.at_end()) result.reset();
  return result;
}

auto uleb(std::initializer_list<unsigned> values) {
  return read_all(values, [](ByteReader& reader) { return reader.read_uleb128(); });
}

auto sleb(std::initializer_list<unsigned> values) {
  return read_all(values, [](ByteReader& reader) { return reader.read_sleb128(); });
}

}  // namespace

TEST_CASE("a reader takes numbers off the front") {
  const GuardedBytes bytes(
      ByteWriter().u8(0xFE).u16(0x1234).u32(0x89ABCDEF).u64(0x0123456789ABCDEF).u8(0xFF).bytes());
  ByteReader reader(bytes.span());
  CHECK(reader.address() == bytes.address());
  CHECK(reader.read<std::uint8_t>() == 0xFE);
  CHECK(reader.read<std::uint16_t>() == 0x1234);
  CHECK(reader.read<std::uint32_t>() == 0x89ABCDEF);
  CHECK(reader.read<std::uint64_t>() == 0x0123456789ABCDEF);
  CHECK_FALSE(reader.at_end());
  CHECK(reader.read<std::int8_t>() == -1);
  CHECK(reader.ok());
  CHECK(reader.at_end());
}

TEST_CASE("a read that does not fit fails, and all that follow") {
  const GuardedBytes bytes(raw({1, 2, 3}));
  ByteReader reader(bytes.span());
  CHECK(reader.read<std::uint32_t>() == 0);
  CHECK_FALSE(reader.ok());
  CHECK(reader.at_end());
  CHECK(reader.read<std::uint8_t>() == 0);
  CHECK(reader.read_bytes(0).empty());
  CHECK_FALSE(reader.ok());
  CHECK_FALSE(ByteReader::failed().ok());
}

TEST_CASE("pieces are as long as asked, and never longer than what is there") {
  const GuardedBytes bytes(raw({1, 2, 3}));
  ByteReader reader(bytes.span());
  CHECK(reader.read_bytes(2).data() == bytes.data());
  CHECK(reader.read_bytes(0).empty());
  CHECK(reader.rest().size() == 1);
  CHECK(reader.ok());
  CHECK(reader.read_bytes(UINT64_MAX).empty());
  CHECK_FALSE(reader.ok());
}

TEST_CASE("text ends with a zero, within its limit") {
  const GuardedBytes bytes(ByteWriter().text("zPLR").text("").text("more").bytes());
  ByteReader reader(bytes.span());
  CHECK(reader.read_text(4) == "zPLR");
  CHECK(reader.read_text(4).empty());
  CHECK(reader.ok());
  CHECK(reader.read_text(3).empty());
  CHECK_FALSE(reader.ok());
  const GuardedBytes endless(raw({'a', 'b'}));
  ByteReader broken(endless.span());
  CHECK(broken.read_text(100).empty());
  CHECK_FALSE(broken.ok());
  const GuardedBytes nothing({});
  ByteReader empty(nothing.span());
  CHECK(empty.read_text(SIZE_MAX - 1).empty());
  CHECK_FALSE(empty.ok());
}

TEST_CASE("unsigned LEB128") {
  CHECK(uleb({0x00}) == 0);
  CHECK(uleb({0x7F}) == 127);
  CHECK(uleb({0x80, 0x01}) == 128);
  CHECK(uleb({0xE5, 0x8E, 0x26}) == 624485);
  CHECK(uleb({0x83, 0x80, 0x80, 0x00}) == 3);
  CHECK(uleb({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01}) == UINT64_MAX);
  CHECK(uleb({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}) == 0);
}

TEST_CASE("signed LEB128") {
  CHECK(sleb({0x00}) == 0);
  CHECK(sleb({0x78}) == -8);
  CHECK(sleb({0x3F}) == 63);
  CHECK(sleb({0x40}) == -64);
  CHECK(sleb({0x80, 0x7F}) == -128);
  CHECK(sleb({0xC0, 0xBB, 0x78}) == -123456);
  CHECK(sleb({0xF8, 0xFF, 0xFF, 0x7F}) == -8);
  CHECK(sleb({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7F}) == INT64_MIN);
  CHECK(sleb({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x00}) == INT64_MAX);
  CHECK(sleb({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x3F}) == INT64_MAX >> 1);
  CHECK(sleb({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40}) == INT64_MIN / 2);
}

TEST_CASE("LEB128 that breaks off, or does not fit 64 bits, is none") {
  CHECK_FALSE(uleb({}).has_value());
  CHECK_FALSE(uleb({0x80}).has_value());
  CHECK_FALSE(sleb({0xFF, 0xFF}).has_value());
  CHECK_FALSE(uleb({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02}).has_value());
  CHECK_FALSE(sleb({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}).has_value());
  CHECK_FALSE(uleb({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}).has_value());
}
