#include "alloctap/arch/dwarf_registers.hpp"

#include <doctest/doctest.h>

#include <cstddef>

using alloctap::arch::DwarfRegisters;

namespace {

// x19 to x30; rbx, rbp, r12 to r15, and on Windows rsi and rdi.
#if defined(__aarch64__)
constexpr std::size_t kPreserved = 12;
#elif defined(_WIN32)
constexpr std::size_t kPreserved = 8;
#else
constexpr std::size_t kPreserved = 6;
#endif

}  // namespace

TEST_CASE("the registers that unwinding is about are kept") {
  static_assert(DwarfRegisters::kFramePointer < DwarfRegisters::kCount);
  static_assert(DwarfRegisters::kStackPointer < DwarfRegisters::kCount);
  static_assert(DwarfRegisters::kReturnAddress < DwarfRegisters::kCount);
  static_assert(DwarfRegisters::kProgramCounter < DwarfRegisters::kCount);
  static_assert(DwarfRegisters::is_preserved(DwarfRegisters::kFramePointer));
  static_assert(!DwarfRegisters::is_preserved(DwarfRegisters::kStackPointer));
  static_assert(!DwarfRegisters::is_preserved(0));
  std::size_t preserved = 0;
  for (unsigned number = 0; number < DwarfRegisters::kCount; ++number) {
    preserved += DwarfRegisters::is_preserved(number) ? 1U : 0U;
  }
  CHECK(preserved == kPreserved);
}

TEST_CASE("an address without a signature stays as it is") {
  const auto here = reinterpret_cast<std::uintptr_t>(&DwarfRegisters::strip_signature);
  CHECK(DwarfRegisters::strip_signature(here) == here);
}
