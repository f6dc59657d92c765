#include <doctest/doctest.h>

#include "alloctap/elf/unwind_tables.hpp"
#include "tests/unit/elf/unwind_bytes.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::elf::FrameEntry;
using alloctap::elf::read_frame_entry;
using EntryKind = FrameEntry::Kind;

EntryKind kind_of(const ByteWriter& bytes) {
  const GuardedBytes image(bytes.bytes());
  return read_frame_entry(image.tables(), image.address()).kind;
}

}  // namespace

TEST_CASE("an entry has a length, an id and contents") {
  const GuardedBytes image(ByteWriter().u32(6).u32(0).u16(0xABCD).u32(0).bytes());
  FrameEntry cie = read_frame_entry(image.tables(), image.address());
  CHECK(cie.kind == EntryKind::kCommonInformation);
  CHECK(cie.contents.read<std::uint16_t>() == 0xABCD);
  CHECK(cie.contents.at_end());
  CHECK(cie.next == image.address() + 10);
  CHECK(read_frame_entry(image.tables(), cie.next).kind == EntryKind::kTerminator);
}

TEST_CASE("a description says how far back its CIE is, from where it says it") {
  const GuardedBytes image(ByteWriter().u32(4).u32(0).u32(4).u32(12).bytes());
  const FrameEntry fde = read_frame_entry(image.tables(), image.address() + 8);
  CHECK(fde.kind == EntryKind::kDescription);
  CHECK(fde.common_information == image.address());
}

TEST_CASE("a long length has eight bytes, and the id still four") {
  const GuardedBytes image(ByteWriter().u32(0xFFFFFFFF).u64(5).u32(12).u8(7).bytes());
  FrameEntry entry = read_frame_entry(image.tables(), image.address());
  CHECK(entry.kind == EntryKind::kDescription);
  CHECK(entry.common_information == image.address());
  CHECK(entry.contents.read<std::uint8_t>() == 7);
  CHECK(entry.next == image.address() + 17);
}

TEST_CASE("an entry that does not fit its memory or itself is malformed") {
  CHECK(kind_of(ByteWriter()) == EntryKind::kMalformed);
  CHECK(kind_of(ByteWriter().u16(0)) == EntryKind::kMalformed);
  CHECK(kind_of(ByteWriter().u32(1).u8(0)) == EntryKind::kMalformed);
  CHECK(kind_of(ByteWriter().u32(5).u32(0)) == EntryKind::kMalformed);
  CHECK(kind_of(ByteWriter().u32(0xFFFFFFFE).u32(0)) == EntryKind::kMalformed);
  CHECK(kind_of(ByteWriter().u32(0xFFFFFFFF).u32(0)) == EntryKind::kMalformed);
  CHECK(kind_of(ByteWriter().u32(0xFFFFFFFF).u64(UINT64_MAX).u32(0)) == EntryKind::kMalformed);
  CHECK(kind_of(ByteWriter().u32(0xFFFFFFFF).u64(0)) == EntryKind::kMalformed);
}

TEST_CASE("nothing is read outside of the tables' memory") {
  const GuardedBytes image(ByteWriter().u32(4).u32(0).bytes());
  for (const std::uintptr_t address :
       {std::uintptr_t{0}, image.address() - 1, image.address() + 8, UINTPTR_MAX}) {
    CHECK(read_frame_entry(image.tables(), address).kind == EntryKind::kMalformed);
  }
}
