#include <doctest/doctest.h>

#include <array>

#include "alloctap/elf/mapped_image.hpp"

namespace {

using alloctap::elf::LoadedMemory;

ElfW(Phdr) segment(std::uintptr_t address, std::uint64_t bytes, ElfW(Word) rights,
                   ElfW(Word) type = PT_LOAD) {
  return {.p_type = type,
          .p_flags = rights,
          .p_offset = 0,
          .p_vaddr = address,
          .p_paddr = 0,
          .p_filesz = bytes,
          .p_memsz = bytes,
          .p_align = 1};
}

constexpr std::uintptr_t kBias = 0x10000;

}  // namespace

TEST_CASE("a segment reaches from its address plus the bias as far as its size in memory") {
  const std::array segments{segment(0x1000, 0x100, PF_R), segment(0x2000, 0x10, PF_R | PF_X)};
  const LoadedMemory memory(kBias, segments);
  CHECK(memory.end_of(0x11000) == 0x11100);
  CHECK(memory.end_of(0x110FF) == 0x11100);
  CHECK(memory.end_of(0x11100) == 0x11100);
  CHECK(memory.end_of(0x10FFF) == 0x10FFF);
  CHECK(memory.end_of(0x1000) == 0x1000);
  CHECK(memory.holds(0x11000, 0x100));
  CHECK_FALSE(memory.holds(0x11000, 0x101));
  CHECK_FALSE(memory.holds(0x11000, UINT64_MAX));
  CHECK(memory.holds(0x1200F, 1));
}

TEST_CASE("rights must all be there, and only what is loaded counts") {
  const std::array segments{segment(0x1000, 0x100, PF_X), segment(0x2000, 0x100, PF_R | PF_W),
                            segment(0x3000, 0x100, PF_R, PT_NOTE)};
  const LoadedMemory memory(kBias, segments);
  CHECK_FALSE(memory.holds(0x11000, 1));
  CHECK(memory.holds(0x11000, 1, PF_X));
  CHECK(memory.holds(0x12000, 1, PF_R | PF_W));
  CHECK_FALSE(memory.holds(0x12000, 1, PF_R | PF_X));
  CHECK_FALSE(memory.holds(0x13000, 1));
}

TEST_CASE("a segment that reaches around the end of the address space is passed over") {
  const std::array segments{segment(0x1000, UINTPTR_MAX, PF_R), segment(0x1000, 0x20, PF_R)};
  const LoadedMemory memory(kBias, segments);
  CHECK(memory.end_of(0x11000) == 0x11020);
}

TEST_CASE("arrays are whole and aligned, or empty") {
  alignas(8) std::array<std::uint64_t, 4> words{1, 2, 3, 4};
  const auto address = reinterpret_cast<std::uintptr_t>(words.data());
  const std::array segments{segment(address, sizeof words, PF_R)};
  const LoadedMemory memory(0, segments);
  const auto three = memory.array<std::uint64_t>(address + 8, 3);
  REQUIRE(three.size() == 3);
  CHECK(three.front() == 2);
  CHECK(memory.array<std::uint64_t>(address + 8, 4).empty());
  CHECK(memory.array<std::uint64_t>(address, UINT64_MAX / 4).empty());
  CHECK(memory.array<std::uint64_t>(address + 4, 1).empty());
  CHECK(memory.array<std::uint64_t>(address - 8, 1).empty());
  CHECK(memory.rest<std::uint64_t>(address + 16).size() == 2);
  CHECK(memory.rest<std::uint64_t>(address + 12).empty());
  CHECK(memory.rest<std::byte>(address + 31).size() == 1);
}
