#include <doctest/doctest.h>

#include "alloctap/elf/byte_reader.hpp"

using alloctap::elf::RegisterFile;

TEST_CASE("registers are unknown until they are set, and may become so again") {
  RegisterFile registers;
  for (std::size_t number = 0; number < RegisterFile::kCount; ++number) {
    CHECK_FALSE(registers.get(number).has_value());
  }
  registers.set(6, 0x1000);
  registers.set(RegisterFile::kCount - 1, 0);
  CHECK(registers.get(6) == 0x1000);
  CHECK(registers.get(RegisterFile::kCount - 1) == 0);
  CHECK_FALSE(registers.get(5).has_value());
  registers.set(6, std::nullopt);
  CHECK_FALSE(registers.get(6).has_value());
  CHECK(registers.get(RegisterFile::kCount - 1) == 0);
}

TEST_CASE("registers that are not kept are never known") {
  RegisterFile registers;
  registers.set(RegisterFile::kCount, 1);
  registers.set(SIZE_MAX, 1);
  for (const std::uint64_t number :
       {std::uint64_t{RegisterFile::kCount}, std::uint64_t{64}, UINT64_MAX}) {
    CHECK_FALSE(registers.get(number).has_value());
  }
  CHECK(registers == RegisterFile{});
}
