// 23: every register and every flag arrives in the replacement, and through it in the original.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "alloctap/hook/inline/function_patch.hpp"
#include "tests/contract/function_patch/x86_64/register_probe.hpp"

namespace {

using alloctap::FunctionPatch;

/// Carry, parity, adjust, zero, sign, direction and overflow; bit 1 is always set, and the bit of
/// interrupts is the system's.
constexpr std::uint64_t kFlags = 0xCD5;

/// Intel SDM volume 1, 13.4.1: the x87 control word, MXCSR and XMM0 to XMM15; 13.4.2: in the
/// header, which components are there; 13.4.3: the upper halves of YMM0 to YMM15.
constexpr std::size_t kMxcsrOffset = 24;
constexpr std::size_t kXmmOffset = 160;
constexpr std::size_t kHeaderOffset = 512;
constexpr std::size_t kYmmOffset = 576;
constexpr std::size_t kVectorBytes = 256;

bool has_upper_halves() { return __builtin_cpu_supports("avx") != 0; }

template <class T>
void put(ProbedRegisters& registers, std::size_t offset, T value) {
  std::memcpy(registers.extended.data() + offset, &value, sizeof value);
}

std::span<std::byte> vectors_at(ProbedRegisters& registers, std::size_t offset) {
  return std::span(registers.extended).subspan(offset, kVectorBytes);
}

void fill_vectors(ProbedRegisters& registers) {
  constexpr std::uint64_t kX87AndXmm = 3;
  constexpr std::uint64_t kUpperHalves = 4;
  put(registers, 0, std::uint16_t{0x37F});
  put(registers, kMxcsrOffset, std::uint32_t{0x1F80});
  put(registers, kHeaderOffset, has_upper_halves() ? kX87AndXmm | kUpperHalves : kX87AndXmm);
  for (std::size_t i = 0; i < kVectorBytes; ++i) {
    vectors_at(registers, kXmmOffset)[i] = static_cast<std::byte>(i + 1);
    vectors_at(registers, kYmmOffset)[i] = static_cast<std::byte>(~i);
  }
}

void fill_all(std::uint64_t flags) {
  registers_passed = {};
  registers_in_replacement = {};
  registers_in_target = {};
  std::uint64_t pattern = 0x0123'4567'89AB'CDEF;
  for (std::uint64_t& general : registers_passed.general) general = pattern *= 3;
  registers_passed.flags = flags;
  fill_vectors(registers_passed);
}

void check_arrived(ProbedRegisters& found) {
  CHECK(found.general == registers_passed.general);
  CHECK((found.flags & kFlags) == (registers_passed.flags & kFlags));
  const auto arrived = [&](std::size_t offset) {
    return std::ranges::equal(vectors_at(found, offset), vectors_at(registers_passed, offset));
  };
  CHECK(arrived(kXmmOffset));
  CHECK(arrived(kYmmOffset) == has_upper_halves());
}

}  // namespace

TEST_CASE("all registers and flags pass the stub and the trampoline") {
  const auto* start = reinterpret_cast<const std::byte*>(&target_registers);
  const auto bytes = static_cast<std::size_t>(target_registers_end - start);
  auto patch = FunctionPatch::prepare({.address = start, .bytes = bytes},
                                      reinterpret_cast<const void*>(&probing_replacement));
  INFO(std::string(patch.status().message()));
  REQUIRE(patch.ok());
  original_of_probe = patch->original(&target_registers);
  for (const std::uint64_t flags : {std::uint64_t{0x202}, std::uint64_t{0x202} | kFlags}) {
    REQUIRE(patch->disable().ok());
    fill_all(flags);
    call_with_all_registers(&target_registers);
    check_arrived(registers_in_target);
    REQUIRE(patch->enable().ok());
    fill_all(flags);
    call_with_all_registers(&target_registers);
    check_arrived(registers_in_replacement);
    check_arrived(registers_in_target);
  }
}
