#include <doctest/doctest.h>

#include <optional>

#include "alloctap/elf/unwind_tables.hpp"
#include "tests/unit/elf/unwind_bytes.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::elf::ByteReader;

constexpr std::uintptr_t kData = 0x7000;

/// The pointer at the start of `bytes`, if it can be read, and how many bytes it takes.
struct Decoded {
  std::optional<std::uintptr_t> value;
  std::size_t size;
};

Decoded decode(const GuardedBytes& bytes, unsigned encoding, std::uintptr_t data_base = kData) {
  ByteReader reader(bytes.span());
  const auto value =
      alloctap::elf::read_encoded_pointer(reader, static_cast<std::uint8_t>(encoding), data_base);
  const std::size_t size = bytes.span().size() - reader.rest().size();
  return {reader.ok() ? std::optional(value) : std::nullopt, size};
}

}  // namespace

TEST_CASE("each format has its width and its sign") {
  const GuardedBytes bytes(ByteWriter().u64(0x8182838485868788).u8(0x01).bytes());
  const auto check = [&](unsigned format, std::uintptr_t value, std::size_t size) {
    CAPTURE(format);
    CHECK(decode(bytes, format).value == value);
    CHECK(decode(bytes, format).size == size);
  };
  check(0x00, 0x8182838485868788, 8);
  check(0x02, 0x8788, 2);
  check(0x03, 0x85868788, 4);
  check(0x04, 0x8182838485868788, 8);
  check(0x0A, 0xFFFFFFFFFFFF8788, 2);
  check(0x0B, 0xFFFFFFFF85868788, 4);
  check(0x0C, 0x8182838485868788, 8);
  const GuardedBytes leb(raw({0xFF, 0x7E}));
  CHECK(decode(leb, 0x01).value == 0x3F7F);
  CHECK(decode(leb, 0x09).value == static_cast<std::uintptr_t>(-129));
}

TEST_CASE("a pointer is relative to itself, to the data, or to nothing") {
  const GuardedBytes bytes(ByteWriter().u32(static_cast<std::uint32_t>(-16)).bytes());
  CHECK(decode(bytes, 0x1B).value == bytes.address() - 16);
  CHECK(decode(bytes, 0x3B).value == kData - 16);
  CHECK(decode(bytes, 0x0B).value == static_cast<std::uintptr_t>(-16));
}

TEST_CASE("zero is no address, whatever it is relative to") {
  const GuardedBytes bytes(ByteWriter().u64(0).bytes());
  for (const unsigned encoding : {0x00U, 0x1BU, 0x3BU}) CHECK(decode(bytes, encoding).value == 0);
}

TEST_CASE("what is unknown here, or cut, is no pointer") {
  const GuardedBytes bytes(ByteWriter().u64(1).bytes());
  for (const unsigned encoding : {0xFFU, 0x05U, 0x0DU, 0x0FU, 0x2BU, 0x4BU, 0x50U, 0x7BU, 0x9BU}) {
    CAPTURE(encoding);
    CHECK_FALSE(decode(bytes, encoding).value.has_value());
  }
  CHECK_FALSE(decode(bytes, 0x3B, 0).value.has_value());
  const GuardedBytes cut(raw({1, 2, 3}));
  CHECK_FALSE(decode(cut, 0x1B).value.has_value());
  CHECK_FALSE(decode(cut, 0x00).value.has_value());
}
