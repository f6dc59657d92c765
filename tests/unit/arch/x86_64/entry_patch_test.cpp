#include "alloctap/arch/x86_64/entry_patch.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace {

using alloctap::arch::FunctionCode;
using alloctap::arch::PatchRefusal;
using alloctap::arch::x86_64::EntryPatch;

constexpr std::uintptr_t kEntryAddress = 0x401000;

EntryPatch analyze_entry(std::span<const unsigned char> code, bool under_shadow_stack) {
  return EntryPatch::analyze({.address = kEntryAddress, .bytes = std::as_bytes(code), .behind = {}},
                             under_shadow_stack);
}

}  // namespace

TEST_CASE("a displaced call is refused under a shadow stack, and only there") {
  // push rbx; call +0x10; pop rbx; ret, and the same with call rax.
  constexpr std::array<unsigned char, 8> kCall{0x53, 0xE8, 0x10, 0, 0, 0, 0x5B, 0xC3};
  constexpr std::array<unsigned char, 8> kIndirect{0x53, 0x90, 0x90, 0xFF, 0xD0, 0x5B, 0xC3, 0x90};
  CHECK(analyze_entry(kCall, false).refusal() == PatchRefusal::kNone);
  CHECK(analyze_entry(kIndirect, false).refusal() == PatchRefusal::kNone);
  CHECK(analyze_entry(kCall, true).refusal() == PatchRefusal::kCallUnderShadowStack);
  CHECK(analyze_entry(kCall, true).refused_at() == kEntryAddress + 1);
  CHECK(analyze_entry(kIndirect, true).refusal() == PatchRefusal::kCallUnderShadowStack);
  CHECK(analyze_entry(kIndirect, true).refused_at() == kEntryAddress + 3);
}

TEST_CASE("what calls behind the displaced bytes is patched under a shadow stack too") {
  // push rbp; mov rbp, rsp; nop; call +0x10; pop rbp; ret
  constexpr std::array<unsigned char, 12> kCode{0x55, 0x48, 0x89, 0xE5, 0x90, 0xE8,
                                                0x10, 0,    0,    0,    0x5D, 0xC3};
  CHECK(analyze_entry(kCode, true).refusal() == PatchRefusal::kNone);
}
