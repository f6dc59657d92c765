#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include "alloctap/elf/find_row.hpp"

// Real frames of signals are in call_frame_step_stacks_test.cpp.

namespace {

using namespace alloctap::elf;
using alloctap::arch::DwarfRegisters;
using alloctap::arch::SignalReturn;

/// nop; mov x8, #139; svc #0; mov x8, #138; svc #0: in a module, as such code is.
const std::uint32_t signal_code[] = {0xd503201f, 0xd2801168, 0xd4000001, 0xd2801148, 0xd4000001};

std::uintptr_t place(std::size_t instruction) {
  return reinterpret_cast<std::uintptr_t>(&signal_code[instruction]);
}

constexpr bool kKnownByCode = !SignalReturn::kCode.empty();

}  // namespace

TEST_CASE("code that returns from a signal is known by its two instructions") {
  CallFrameRow row;
  CHECK(find_signal_row(place(1), row) == kKnownByCode);
  CHECK(find_signal_row(place(1) - 1, row) == kKnownByCode);
  for (const std::size_t other : {0U, 2U, 3U, 4U}) {
    CAPTURE(other);
    CHECK_FALSE(find_signal_row(place(other), row));
  }
}

TEST_CASE("the row of a signal's frame has every register, and where the signal came") {
  CallFrameRow row;
  REQUIRE(find_signal_row(place(1), row) == kKnownByCode);
  if (!kKnownByCode) return;
  CHECK(row.begin == place(1));
  CHECK(row.end == place(3));
  CHECK(row.signal_frame);
  CHECK(row.cfa.register_number == DwarfRegisters::kStackPointer);
  CHECK(row.cfa.value == 0);
  // siginfo; of the context flags, link, stack, mask, a gap and the address of a fault.
  constexpr std::int64_t kFirst = 128 + 8 + 8 + 24 + 128 + 8 + 8;
  CHECK(row.registers[0].value == kFirst);
  CHECK(row.registers[DwarfRegisters::kStackPointer].value == kFirst + 31 * 8);
  CHECK(row.return_address().value == kFirst + 32 * 8);
  for (const RegisterRule& rule : row.registers) {
    CHECK(rule.kind == RegisterRule::Kind::kAtCfaPlus);
  }
}

TEST_CASE("where nothing is, or data, there is no such code") {
  CallFrameRow row;
  const std::uint32_t local[] = {1, 2};
  for (const std::uintptr_t address : {std::uintptr_t{0}, std::uintptr_t{4096}, UINTPTR_MAX,
                                       UINTPTR_MAX - 7, reinterpret_cast<std::uintptr_t>(&local)}) {
    CAPTURE(address);
    CHECK_FALSE(find_signal_row(address, row));
  }
}
