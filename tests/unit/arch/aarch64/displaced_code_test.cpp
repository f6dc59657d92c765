#include "alloctap/arch/aarch64/displaced_code.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace alloctap::arch;
using namespace alloctap::arch::aarch64;

constexpr std::uintptr_t kAddress = 0x401000;
constexpr std::uint32_t kNop = 0xD503201F;
constexpr std::uint32_t kReturn = 0xD65F03C0;
constexpr std::uint32_t kPad = 0xD503245F;      // bti c
constexpr std::uint32_t kSigning = 0xD503233F;  // paciasp

DisplacedCode analyze_words(const std::vector<std::uint32_t>& words) {
  return analyze_function({kAddress, std::as_bytes(std::span(words)), {}});
}

struct Row {
  const char* what;
  std::vector<std::uint32_t> words;
  PatchRefusal refusal;
  std::uintptr_t offset = 0;
};

const std::vector<Row>& rows() {
  using enum PatchRefusal;
  static const std::vector<Row> all{
      {"nothing", {}, kTooShort},
      {"ret", {kReturn}, kNone},
      {"bti c alone", {kPad}, kTooShort},
      {"paciasp alone", {kSigning}, kTooShort},
      {"bti c; ret", {kPad, kReturn}, kNone},
      {"paciasp; ret", {kSigning, kReturn}, kNone},
      {"bti c; paciasp", {kPad, kSigning}, kNone},
      {"paciasp; paciasp", {kSigning, kSigning}, kNone},
      {"udf", {0, kReturn}, kUnknownInstruction},
      {"udf in the body", {kNop, kReturn, 0}, kNone},
      {"a branch that nobody knows", {0x74010000, kReturn}, kUnknownInstruction},
      {"the same in the body", {kNop, 0x74010000}, kUnknownInstruction, 4},
      {"brk", {0xD4200020, kReturn}, kBreakpoint},
      {"brk in the body", {kNop, 0xD4200020}, kNone},
      {"bti c; brk", {kPad, 0xD4200020}, kBreakpoint, 4},
      {"bti c; bti j", {kPad, 0xD503249F}, kUnsupportedInstruction, 4},
      {"ldxr", {0xC85F7C20, kReturn}, kUnsupportedInstruction},
      {"ldxr in the body", {kNop, 0xC85F7C20}, kNone},
      {"pacm; paciasp", {0xD50324FF, kSigning}, kUnsupportedInstruction},
      {"cpyfp", {0x19010440, kReturn}, kUnsupportedInstruction},
      {"b .", {0x14000000}, kBranchToEntry},
      {"cbz x0, .", {0xB4000000, kReturn}, kBranchToEntry},
      {"nop; b .-4", {kNop, 0x17FFFFFF}, kBranchToEntry, 4},
      {"nop; b.ne .-4", {kNop, 0x54FFFFE1, kReturn}, kBranchToEntry, 4},
      {"nop; cbz w0, .-4", {kNop, 0x34FFFFE0}, kBranchToEntry, 4},
      {"nop; tbz w0, #0, .-4", {kNop, 0x3607FFE0}, kBranchToEntry, 4},
      {"nop; bl .-4", {kNop, 0x97FFFFFF}, kNone},
      {"bl .", {0x94000000, kReturn}, kNone},
      {"nop; nop; b .-4", {kNop, kNop, 0x17FFFFFF}, kNone},
      {"bti c; nop; b .-8", {kPad, kNop, 0x17FFFFFE}, kBranchToEntry, 8},
      {"bti c; nop; b .-4", {kPad, kNop, 0x17FFFFFF}, kBranchIntoPatch, 8},
      {"bti c; nop; cbnz x0, .-4", {kPad, kNop, 0xB5FFFFE0}, kBranchIntoPatch, 8},
      {"paciasp; nop; bl .-4", {kSigning, kNop, 0x97FFFFFF}, kBranchIntoPatch, 8},
      {"paciasp; b .", {kSigning, 0x14000000}, kBranchIntoPatch, 4},
      {"ldr w0, .", {0x18000000, kReturn}, kReadsPatchedBytes},
      {"nop; ldr w0, .-4", {kNop, 0x18FFFFE0}, kReadsPatchedBytes, 4},
      {"nop; nop; ldr x0, .-4", {kNop, kNop, 0x58FFFFE0}, kNone},
      {"bti c; nop; ldr x0, .-8", {kPad, kNop, 0x58FFFFC0}, kReadsPatchedBytes, 8},
      {"bti c; nop; ldr w0, .-8", {kPad, kNop, 0x18FFFFC0}, kNone},
      {"nop; ldr q0, .-16", {kNop, kNop, kNop, 0x9CFFFFA0}, kReadsPatchedBytes, 12},
      {"nop; prfm .-4", {kNop, 0xD8FFFFE0}, kNone},
      {"nop; adr x0, .-4", {kNop, 0x10FFFFE0}, kNone},
      {"nop; adr x0, .-3", {kNop, 0x30FFFFE0}, kReadsPatchedBytes, 4},
      {"bti c; nop; adr x0, .-4", {kPad, kNop, 0x10FFFFE0}, kReadsPatchedBytes, 8},
      {"bti c; nop; adr x0, .-8", {kPad, kNop, 0x10FFFFC0}, kNone},
      {"nop; adrp x0, this page", {kNop, 0x90000000}, kNone},
  };
  return all;
}

}  // namespace

TEST_CASE("each reason not to patch a function of A64 is found, at its instruction") {
  for (const Row& row : rows()) {
    INFO(std::string(row.what));
    const DisplacedCode displaced = analyze_words(row.words);
    CHECK(std::string(describe(displaced.refusal)) == describe(row.refusal));
    if (row.refusal != PatchRefusal::kNone) CHECK(displaced.refused_at == kAddress + row.offset);
  }
}

TEST_CASE("one instruction gives way: the first, or the one behind the landing pad") {
  const DisplacedCode plain = analyze_words({kNop, kReturn});
  CHECK(plain.start() == kAddress);
  CHECK(plain.end() == kAddress + 4);
  CHECK(plain.signing == 0);
  CHECK(plain.instruction.word == kNop);
  const DisplacedCode padded = analyze_words({kPad, kNop, kReturn});
  CHECK(padded.start() == kAddress + 4);
  CHECK(padded.signing == 0);
  const DisplacedCode signing = analyze_words({kSigning, kReturn});
  CHECK(signing.start() == kAddress + 4);
  CHECK(signing.signing == kSigning);
  CHECK(signing.instruction.word == kReturn);
  // Behind bti, paciasp is an instruction like others.
  const DisplacedCode both = analyze_words({kPad, kSigning, kReturn});
  CHECK(both.start() == kAddress + 4);
  CHECK(both.signing == 0);
  CHECK(both.instruction.word == kSigning);
}

TEST_CASE("functions of every length from 1 to 15 bytes are patched from one instruction on") {
  const std::vector<std::uint32_t> words(4, kNop);
  const auto code = std::as_bytes(std::span(words));
  for (std::size_t bytes = 0; bytes <= 15; ++bytes) {
    INFO(bytes, " bytes");
    const auto refusal = analyze_function({kAddress, code.first(bytes), {}}).refusal;
    CHECK((refusal == PatchRefusal::kNone) == (bytes >= 4));
  }
}

TEST_CASE("an address where no instruction stands is refused") {
  const std::vector<std::uint32_t> words(4, kNop);
  const auto refusal =
      analyze_function({kAddress + 2, std::as_bytes(std::span(words)), {}}).refusal;
  CHECK(refusal == PatchRefusal::kUnknownInstruction);
}
