#include <doctest/doctest.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cstdlib>

#include "alloctap/arch/signal_return.hpp"
#include "alloctap/elf/find_row.hpp"
#include "alloctap/elf/unwind_tables.hpp"
#include "tests/unit/elf/elf_image.hpp"

namespace {

using namespace alloctap::testing;
using namespace alloctap::elf;

/// An image whose note segment is a header of unwind tables instead, in the second segment.
struct TablesImage : ElfImage {
  static constexpr std::uintptr_t kHeader = kFirstAddress + 0x6800;

  TablesImage() {
    segment(0).p_type = PT_GNU_EH_FRAME;
    segment(0).p_vaddr = kHeader;
    segment(2).p_filesz = 0x2000;
  }

  std::optional<UnwindTables> tables(std::size_t known = kBytes) {
    return unwind_tables_of_image(bytes(known), address());
  }
};

/// Whether the tables of this process describe the code at `pc`.
bool describes(std::uintptr_t pc) {
  const auto tables = find_unwind_tables(pc);
  return tables && find_frame_description(*tables, pc).status == UnwindStatus::kFound;
}

template <class Function>
std::uintptr_t address_of(Function* function) {
  return reinterpret_cast<std::uintptr_t>(function);
}

}  // namespace

TEST_CASE("tables may be read as far as the segment of their header reaches in the file") {
  TablesImage image;
  const auto tables = image.tables();
  REQUIRE(tables.has_value());
  CHECK(tables->header == image.address() + 0x6800);
  CHECK(tables->low == image.address() + 0x6000);
  CHECK(tables->high == image.address() + 0x8000);
}

TEST_CASE("a header outside of all readable segments is none") {
  TablesImage image;
  for (const std::uintptr_t place : {std::uintptr_t{0}, ElfImage::kFirstAddress + 0x5FFF,
                                     ElfImage::kFirstAddress + 0x8000, UINTPTR_MAX}) {
    image.segment(0).p_vaddr = place;
    CHECK_FALSE(image.tables().has_value());
  }
  image.segment(0).p_vaddr = TablesImage::kHeader;
  image.segment(2).p_flags = PF_X;
  CHECK_FALSE(image.tables().has_value());
}

TEST_CASE("a module without unwind tables, or without a file, has none") {
  ElfImage image;
  CHECK_FALSE(unwind_tables_of_image(image.bytes(), image.address()).has_value());
  TablesImage cut;
  CHECK_FALSE(cut.tables(100).has_value());
  cut.header().e_ident[0] = 'E';
  CHECK_FALSE(cut.tables().has_value());
}

TEST_CASE("code of the program, of its libraries and of the kernel's library is described") {
  CHECK(describes(address_of(&describes)));
  CHECK(describes(address_of(&std::qsort)));
  const std::uintptr_t vdso = getauxval(AT_SYSINFO_EHDR);
  // Linux leaves that library's tables out where code tells of signals.
  if (vdso == 0 || !alloctap::arch::SignalReturn::kCode.empty()) return;
  const auto tables = find_unwind_tables(vdso);
  REQUIRE(tables.has_value());
  const auto header = read_eh_frame_header(*tables);
  REQUIRE(header.has_value());
  EhFrameHeader::Row first;
  std::memcpy(&first, header->table.data(), sizeof first);
  CHECK(describes(tables->header + static_cast<std::uintptr_t>(first.code_begin)));
}

TEST_CASE("what was not loaded from a file has no tables") {
  int local = 0;
  CHECK_FALSE(find_unwind_tables(address_of(&local)).has_value());
  CHECK_FALSE(find_unwind_tables(0).has_value());
  CHECK_FALSE(find_unwind_tables(UINTPTR_MAX).has_value());
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK_FALSE(find_unwind_tables(reinterpret_cast<std::uintptr_t>(page)).has_value());
  munmap(page, 4096);
}
