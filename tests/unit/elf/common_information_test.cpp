#include <doctest/doctest.h>

#include <optional>

#include "alloctap/elf/unwind_tables.hpp"
#include "tests/unit/elf/unwind_bytes.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::elf::CommonInformation;
using alloctap::elf::read_common_information;

/// What can be known of a CIE once its memory is gone: not its instructions, but how many.
struct DecodedCie {
  CommonInformation information;
  std::size_t instruction_bytes;
};

std::optional<DecodedCie> decode_cie(const ByteWriter& contents) {
  EhFrameWriter writer;
  writer.add_entry(contents);
  const GuardedBytes image(writer.eh_frame().bytes());
  const auto information = read_common_information(image.tables(), image.address());
  if (!information) return std::nullopt;
  return DecodedCie{*information, information->instructions.size()};
}

std::optional<DecodedCie> decode_cie(const CieFields& fields) {
  EhFrameWriter writer;
  writer.add_cie(fields);
  const GuardedBytes image(writer.eh_frame().bytes());
  const auto information = read_common_information(image.tables(), image.address());
  if (!information) return std::nullopt;
  return DecodedCie{*information, information->instructions.size()};
}

}  // namespace

TEST_CASE("a CIE says what its functions have in common") {
  for (const unsigned version : {1U, 3U, 4U}) {
    CAPTURE(version);
    const auto cie = decode_cie({.version = version, .code_alignment = 4, .data_alignment = -16});
    REQUIRE(cie.has_value());
    CHECK(cie->information.code_alignment == 4);
    CHECK(cie->information.data_alignment == -16);
    CHECK(cie->information.return_address_register == 16);
    CHECK(cie->information.pointer_encoding == 0x1B);
    CHECK(cie->information.has_augmentation_data);
    CHECK_FALSE(cie->information.signal_frame);
    CHECK(cie->instruction_bytes == 5);
  }
}

TEST_CASE("the register of the return address is a byte in version 1, LEB128 later") {
  const auto fields = [](unsigned version) {
    return ByteWriter().u32(0).u8(version).text("").uleb(1).sleb(-8).u8(0x81).u8(0x01);
  };
  CHECK(decode_cie(fields(1))->information.return_address_register == 0x81);
  CHECK(decode_cie(fields(1))->instruction_bytes == 1);
  CHECK(decode_cie(fields(3))->information.return_address_register == 0x81);
  CHECK(decode_cie(fields(3))->instruction_bytes == 0);
}

TEST_CASE("an augmentation is read letter by letter, and its data is skipped as a whole") {
  const auto all =
      decode_cie({.augmentation = "zPLRS",
                  .data = ByteWriter().u8(0x9B).u32(77).u8(0x1B).u8(0x0B).u64(0).bytes()});
  REQUIRE(all.has_value());
  CHECK(all->information.pointer_encoding == 0x0B);
  CHECK(all->information.signal_frame);
  CHECK(all->instruction_bytes == 5);
  CHECK(all->information.has_personality);
  const auto arm = decode_cie({.augmentation = "zRB", .data = raw({0x1B})});
  CHECK(arm.has_value());
}

TEST_CASE("without an augmentation, pointers are absolute") {
  const auto plain = decode_cie({.augmentation = ""});
  REQUIRE(plain.has_value());
  CHECK(plain->information.pointer_encoding == 0);
  CHECK_FALSE(plain->information.has_augmentation_data);
  const auto old = decode_cie(ByteWriter().u32(0).u8(1).text("eh").u64(99).uleb(1).sleb(-8).u8(16));
  REQUIRE(old.has_value());
  CHECK(old->information.return_address_register == 16);
}

TEST_CASE("what is unknown is not guessed at") {
  CHECK_FALSE(decode_cie({.version = 2}).has_value());
  CHECK_FALSE(decode_cie({.version = 5}).has_value());
  CHECK_FALSE(decode_cie({.augmentation = "zX"}).has_value());
  CHECK_FALSE(decode_cie({.augmentation = "armcc+"}).has_value());
  CHECK_FALSE(decode_cie({.augmentation = "zRRRRRRRRRRRRRRR"}).has_value());
  const auto sizes = [](unsigned address, unsigned segment) {
    return ByteWriter().u32(0).u8(4).text("").u8(address).u8(segment).uleb(1).sleb(-8).uleb(16);
  };
  CHECK(decode_cie(sizes(8, 0)).has_value());
  CHECK_FALSE(decode_cie(sizes(4, 0)).has_value());
  CHECK_FALSE(decode_cie(sizes(8, 2)).has_value());
}

TEST_CASE("augmentation data that does not fit is malformed") {
  CHECK_FALSE(decode_cie({.augmentation = "zR", .data = {}}).has_value());
  CHECK_FALSE(decode_cie({.augmentation = "zP", .data = raw({0x1B, 1, 2, 3})}).has_value());
  CHECK_FALSE(decode_cie({.augmentation = "zP", .data = raw({0x0E})}).has_value());
  const auto claims = [](std::uint64_t bytes) {
    return ByteWriter().u32(0).u8(1).text("z").uleb(1).sleb(-8).u8(16).uleb(bytes).u8(0);
  };
  CHECK(decode_cie(claims(1)).has_value());
  CHECK_FALSE(decode_cie(claims(2)).has_value());
  CHECK_FALSE(decode_cie(claims(UINT64_MAX)).has_value());
}

TEST_CASE("a CIE that breaks off anywhere is malformed") {
  EhFrameWriter writer;
  writer.add_cie(
      {.augmentation = "zPLRS", .data = raw({0x02, 1, 2, 0x1B, 0x1B}), .instructions = {}});
  const auto whole = writer.eh_frame().bytes();
  for (std::size_t length = 0; length < whole.size() - 4; ++length) {
    ByteWriter contents;
    contents.append({whole.begin() + 4, whole.begin() + 4 + static_cast<std::ptrdiff_t>(length)});
    CAPTURE(length);
    CHECK_FALSE(decode_cie(contents).has_value());
  }
}

TEST_CASE("a description is no CIE") {
  CHECK_FALSE(decode_cie(ByteWriter().u32(4).u8(1).text("").u8(1).u8(1).u8(16)).has_value());
}
