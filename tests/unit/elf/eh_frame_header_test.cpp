#include <doctest/doctest.h>

#include <vector>

#include "alloctap/elf/unwind_tables.hpp"
#include "tests/unit/elf/unwind_bytes.hpp"

namespace {

using namespace alloctap::testing;
using namespace alloctap::elf;

/// Three functions of 16 bytes each, with a gap behind the second.
struct ThreeFunctions {
  ThreeFunctions() {
    const auto cie = writer.add_cie();
    for (const std::size_t begin : {0U, 16U, 64U}) writer.add_fde(cie, begin, 16);
  }
  EhFrameWriter writer;
};

/// What is found at `offset` in the code: the status, and where the function begins in the code.
struct FoundRow {
  UnwindStatus status;
  std::size_t begin;
  friend bool operator==(const FoundRow&, const FoundRow&) = default;
};

FoundRow find(const std::vector<std::byte>& bytes, std::size_t header, std::size_t offset) {
  const GuardedBytes image(bytes);
  const std::uintptr_t code = image.address() + EhFrameWriter::kCode;
  const auto found = find_frame_description(image.tables(header), code + offset);
  const bool is_found = found.status == UnwindStatus::kFound;
  return {found.status, is_found ? found.description.begin - code : 0};
}

constexpr FoundRow kNone{UnwindStatus::kNoDescription, 0};
constexpr FoundRow kIsMalformed{UnwindStatus::kMalformed, 0};

void put(std::vector<std::byte>& bytes, std::size_t place, std::uint32_t number) {
  std::memcpy(bytes.data() + place, &number, sizeof number);
}

}  // namespace

TEST_CASE("the description of an address is found with the table and without") {
  const ThreeFunctions functions;
  for (const bool with_table : {true, false}) {
    CAPTURE(with_table);
    const auto bytes = functions.writer.finish(with_table);
    const auto at = [&](std::size_t offset) {
      return find(bytes, functions.writer.header(), offset);
    };
    CHECK(at(0) == FoundRow{UnwindStatus::kFound, 0});
    CHECK(at(15) == FoundRow{UnwindStatus::kFound, 0});
    CHECK(at(16) == FoundRow{UnwindStatus::kFound, 16});
    CHECK(at(31) == FoundRow{UnwindStatus::kFound, 16});
    CHECK(at(64) == FoundRow{UnwindStatus::kFound, 64});
    CHECK(at(79) == FoundRow{UnwindStatus::kFound, 64});
    CHECK(at(32) == kNone);
    CHECK(at(63) == kNone);
    CHECK(at(80) == kNone);
    CHECK(at(static_cast<std::size_t>(-1)) == kNone);
  }
}

TEST_CASE("every function of a larger table is found") {
  EhFrameWriter writer;
  const auto cie = writer.add_cie();
  for (std::size_t i = 0; i < 100; ++i) writer.add_fde(cie, 8 * i, 8);
  const auto bytes = writer.finish();
  for (std::size_t offset = 0; offset < 800; offset += 3) {
    CHECK(find(bytes, writer.header(), offset) == FoundRow{UnwindStatus::kFound, offset / 8 * 8});
  }
}

TEST_CASE("descriptions of no code do not hide the function at their address") {
  EhFrameWriter writer;
  const auto cie = writer.add_cie();
  for (const std::size_t bytes : {16U, 0U, 0U, 0U, 0U}) writer.add_fde(cie, 0, bytes);
  CHECK(find(writer.finish(), writer.header(), 8) == FoundRow{UnwindStatus::kFound, 0});
  writer.add_fde(cie, 0, 0);
  CHECK(find(writer.finish(), writer.header(), 8) == kNone);
}

TEST_CASE("a header says where .eh_frame and the table are") {
  const ThreeFunctions functions;
  const std::size_t place = functions.writer.header();
  const GuardedBytes image(functions.writer.finish());
  const auto header = read_eh_frame_header(image.tables(place));
  REQUIRE(header.has_value());
  CHECK(header->eh_frame == image.address());
  CHECK(header->table.size() == 3 * sizeof(EhFrameHeader::Row));
  const GuardedBytes without(functions.writer.finish(false));
  CHECK(read_eh_frame_header(without.tables(place))->table.empty());
}

TEST_CASE("a table of an unusual format is passed over for .eh_frame") {
  const ThreeFunctions functions;
  const std::size_t header = functions.writer.header();
  for (const unsigned encoding : {0x1BU, 0x33U, 0x3CU, 0x00U, 0xFFU}) {
    CAPTURE(encoding);
    auto bytes = functions.writer.finish();
    bytes[header + 3] = static_cast<std::byte>(encoding);
    CHECK(find(bytes, header, 20) == FoundRow{UnwindStatus::kFound, 16});
  }
}

TEST_CASE("a header that is cut, or of another version, is malformed") {
  const ThreeFunctions functions;
  const std::size_t header = functions.writer.header();
  auto bytes = functions.writer.finish();
  for (std::size_t kept = header; kept < bytes.size(); ++kept) {
    CHECK(find({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(kept)}, header, 0) ==
          kIsMalformed);
  }
  CHECK(find(bytes, bytes.size() + 100, 0) == kIsMalformed);
  bytes[header] = std::byte{2};
  CHECK(find(bytes, header, 0) == kIsMalformed);
}

TEST_CASE("a count that does not fit the memory is malformed") {
  const ThreeFunctions functions;
  const std::size_t header = functions.writer.header();
  for (const std::uint32_t count : {4U, 0x1FFFFFFFU, 0x20000001U, 0xFFFFFFFFU}) {
    CAPTURE(count);
    auto bytes = functions.writer.finish();
    put(bytes, header + 8, count);
    CHECK(find(bytes, header, 0) == kIsMalformed);
  }
  auto wide = functions.writer.finish();
  wide[header + 2] = std::byte{0x04};
  CHECK(find(wide, header, 0) == kIsMalformed);
}

TEST_CASE("a table in disorder finds nothing wrong, and ends") {
  EhFrameWriter writer;
  const auto cie = writer.add_cie();
  for (const std::size_t begin : {64U, 0U, 48U, 16U, 32U}) writer.add_fde(cie, begin, 16);
  const auto bytes = writer.finish();
  for (std::size_t offset = 0; offset < 96; ++offset) {
    const FoundRow found = find(bytes, writer.header(), offset);
    if (found.status == UnwindStatus::kFound) CHECK(found.begin == offset / 16 * 16);
  }
}

TEST_CASE("a row that leads nowhere, or to what is no description, is malformed") {
  const ThreeFunctions functions;
  const std::size_t header = functions.writer.header();
  const std::size_t row = header + 12;
  for (const std::uint32_t place :
       {0U, 4U, 0x7FFFFFFFU, 0x80000000U, static_cast<std::uint32_t>(0 - header)}) {
    CAPTURE(place);
    auto bytes = functions.writer.finish();
    put(bytes, row + 4, place);
    CHECK(find(bytes, header, 0) == kIsMalformed);
    CHECK(find(bytes, header, 16) == FoundRow{UnwindStatus::kFound, 16});
  }
}

TEST_CASE("without a table, .eh_frame may end with its memory and may not be cut") {
  EhFrameWriter writer;
  const auto cie = writer.add_cie();
  writer.add_fde(cie, 0, 16);
  // The header first: then nothing but .eh_frame is cut.
  ByteWriter image;
  image.u8(1).u8(0x1B).u8(0xFF).u8(0xFF).u32(4).append(writer.eh_frame().bytes());
  const std::size_t code = EhFrameWriter::kCode + 8;
  for (std::size_t missing = 0; missing < 8; ++missing) {
    CAPTURE(missing);
    auto bytes = image.bytes();
    bytes.resize(bytes.size() - missing);
    const GuardedBytes memory(bytes);
    const auto status = [&](std::size_t pc) {
      return find_frame_description(memory.tables(), memory.address() + pc).status;
    };
    CHECK(status(code) == (missing == 0 ? UnwindStatus::kFound : UnwindStatus::kMalformed));
    CHECK(status(1) == (missing == 0 ? UnwindStatus::kNoDescription : UnwindStatus::kMalformed));
  }
}

TEST_CASE("a module that tells neither a table nor .eh_frame is malformed") {
  const GuardedBytes image(raw({1, 0xFF, 0xFF, 0xFF}));
  CHECK(find_frame_description(image.tables(), 0x1000).status == UnwindStatus::kMalformed);
}

TEST_CASE("all descriptions are visited in order, until the visitor or the bound ends it") {
  const ThreeFunctions functions;
  const GuardedBytes image(functions.writer.finish());
  const auto tables = image.tables(functions.writer.header());
  std::vector<std::uintptr_t> begins;
  const auto visit = [&](std::size_t most_entries, std::size_t wanted) {
    begins.clear();
    return visit_frame_entries(tables, most_entries, [&](std::uintptr_t, const FrameEntry& entry) {
      begins.push_back(decode_frame_description(tables, entry)->begin);
      return begins.size() != wanted;
    });
  };
  const std::uintptr_t code = image.address() + EhFrameWriter::kCode;
  CHECK(visit(100, 0) == UnwindStatus::kNoDescription);
  CHECK(begins == std::vector<std::uintptr_t>{code, code + 16, code + 64});
  CHECK(visit(100, 2) == UnwindStatus::kFound);
  CHECK(begins.size() == 2);
  CHECK(visit(3, 0) == UnwindStatus::kTooComplex);
  CHECK(begins.size() == 2);
}
