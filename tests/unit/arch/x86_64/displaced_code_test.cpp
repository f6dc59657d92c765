#include "alloctap/arch/x86_64/displaced_code.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace {

using namespace alloctap::arch;
using namespace alloctap::arch::x86_64;

constexpr std::uintptr_t kAddress = 0x401000;

std::vector<std::byte> bytes_of(const std::vector<unsigned>& numbers) {
  std::vector<std::byte> bytes;
  for (const unsigned number : numbers) bytes.push_back(static_cast<std::byte>(number));
  return bytes;
}

DisplacedCode analyze(const std::vector<unsigned>& code, const std::vector<unsigned>& behind = {}) {
  const auto own = bytes_of(code);
  const auto rest = bytes_of(behind);
  return analyze_function({kAddress, own, rest});
}

struct Row {
  const char* what;
  std::vector<unsigned> code;
  PatchRefusal refusal;
  std::uintptr_t offset;
};

const std::vector<Row>& rows() {
  using enum PatchRefusal;
  static const std::vector<Row> all{
      {"push; mov; sub; leave; ret",
       {0x55, 0x48, 0x89, 0xE5, 0x48, 0x83, 0xEC, 8, 0xC9, 0xC3},
       kNone,
       0},
      {"ret", {0xC3}, kTooShort, 0},
      {"xor; ret", {0x31, 0xC0, 0xC3}, kTooShort, 0},
      {"push es, which is none", {0x06, 0x90, 0x90, 0x90, 0x90}, kUnknownInstruction, 0},
      {"none in the body", {0xB8, 1, 0, 0, 0, 0x06}, kUnknownInstruction, 5},
      {"int3 first", {0xCC, 0x90, 0x90, 0x90, 0x90}, kBreakpoint, 0},
      {"int3 within", {0x90, 0xCC, 0x90, 0x90, 0x90}, kBreakpoint, 1},
      {"xbegin", {0xC7, 0xF8, 0, 0, 0, 0, 0xC3}, kUnsupportedInstruction, 0},
      {"jmp rel16", {0x66, 0xE9, 0, 0, 0, 0, 0xC3}, kUnsupportedInstruction, 0},
      {"mov eax, [eip+0]", {0x67, 0x8B, 0x05, 0, 0, 0, 0, 0xC3}, kUnsupportedInstruction, 0},
      {"branch to the second byte",
       {0x90, 0x90, 0x90, 0x90, 0x90, 0x74, 0xFA, 0xC3},
       kBranchIntoPatch,
       5},
      {"branch to the last byte",
       {0x90, 0x90, 0x90, 0x90, 0x90, 0x0F, 0x84, 0xF9, 0xFF, 0xFF, 0xFF, 0xC3},
       kBranchIntoPatch,
       5},
      {"call of the second byte",
       {0x90, 0x90, 0x90, 0x90, 0x90, 0xE8, 0xF7, 0xFF, 0xFF, 0xFF},
       kBranchIntoPatch,
       5},
      {"loop to the first byte",
       {0x90, 0x90, 0x90, 0x90, 0x90, 0xE2, 0xF9, 0xC3},
       kBranchToEntry,
       5},
      {"call of the first byte",
       {0x90, 0x90, 0x90, 0x90, 0x90, 0xE8, 0xF6, 0xFF, 0xFF, 0xFF},
       kNone,
       0},
      {"branch behind the jump", {0x90, 0x90, 0x90, 0x90, 0x90, 0x74, 0xFE, 0xC3}, kNone, 0},
      {"mov eax, [first byte]", {0x8B, 0x05, 0xFA, 0xFF, 0xFF, 0xFF, 0xC3}, kReadsPatchedBytes, 0},
      {"lea rax, [first byte]", {0x48, 0x8D, 0x05, 0xF9, 0xFF, 0xFF, 0xFF, 0xC3}, kNone, 0},
      {"lea rax, [second byte]",
       {0x48, 0x8D, 0x05, 0xFA, 0xFF, 0xFF, 0xFF, 0xC3},
       kReadsPatchedBytes,
       0},
      {"read in the body",
       {0x90, 0x90, 0x90, 0x90, 0x90, 0x8B, 0x05, 0xF9, 0xFF, 0xFF, 0xFF, 0xC3},
       kReadsPatchedBytes,
       5},
      {"call rax; nop...", {0xFF, 0xD0, 0x90, 0x90, 0x90, 0xC3}, kReturnIntoPatch, 0},
      {"nops; call rax", {0x90, 0x90, 0x90, 0xFF, 0xD0, 0xC3}, kNone, 0},
      {"nop; call of the second byte",
       {0x90, 0xE8, 0xFB, 0xFF, 0xFF, 0xFF, 0xC3},
       kCallIntoPatch,
       1},
      {"call [rsp+8]", {0x90, 0x90, 0xFF, 0x54, 0x24, 8, 0xC3}, kStackRelativeCall, 2},
      {"call [r12+8]", {0x90, 0x41, 0xFF, 0x54, 0x24, 8, 0xC3}, kNone, 0},
  };
  return all;
}

}  // namespace

TEST_CASE("each reason not to patch a function is found, at its instruction") {
  for (const Row& row : rows()) {
    INFO(std::string(row.what));
    const DisplacedCode displaced = analyze(row.code);
    CHECK(std::string(describe(displaced.refusal)) == describe(row.refusal));
    if (row.refusal != PatchRefusal::kNone) CHECK(displaced.refused_at == kAddress + row.offset);
  }
}

TEST_CASE("whole instructions give way, up to the first that ends behind the jump") {
  const DisplacedCode displaced =
      analyze({0x55, 0x48, 0x89, 0xE5, 0x48, 0x83, 0xEC, 8, 0xC9, 0xC3});
  CHECK(displaced.start == kAddress);
  REQUIRE(displaced.count == 3);
  CHECK(displaced.instructions[1].address == kAddress + 1);
  CHECK(displaced.instructions[2].address == kAddress + 4);
  CHECK(displaced.end() == kAddress + 8);
}

TEST_CASE("a landing pad stays, and the jump goes behind it") {
  const DisplacedCode displaced =
      analyze({0xF3, 0x0F, 0x1E, 0xFA, 0xB8, 1, 0, 0, 0, 0xC3, 0x90, 0x90});
  CHECK(displaced.refusal == PatchRefusal::kNone);
  CHECK(displaced.start == kAddress + 4);
  CHECK(displaced.end() == kAddress + 9);
  CHECK(analyze({0xF3, 0x0F, 0x1E, 0xFA, 0xC3}).refusal == PatchRefusal::kTooShort);
  CHECK(analyze({0xF3, 0x0F, 0x1E, 0xFA, 0xB8, 1, 0, 0, 0, 0xEB, 0xF5}).refusal ==
        PatchRefusal::kBranchToEntry);
}

TEST_CASE("padding belongs to a short function if it goes up to where the next one is aligned") {
  const std::vector<unsigned> body{0x31, 0xC0, 0xC3};
  const std::vector<unsigned> nops(13, 0x90);
  const std::vector<unsigned> breakpoints(13, 0xCC);
  const std::vector<unsigned> zeros(13, 0x00);
  CHECK(analyze(body, nops).refusal == PatchRefusal::kNone);
  CHECK(analyze(body, breakpoints).refusal == PatchRefusal::kNone);
  CHECK(analyze(body, zeros).refusal == PatchRefusal::kTooShort);
  CHECK(analyze(body, std::vector<unsigned>(12, 0x90)).refusal == PatchRefusal::kTooShort);
  CHECK(
      analyze(body, {0x90, 0x90, 0x55, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90})
          .refusal == PatchRefusal::kTooShort);
  // nopw cs:[rax+rax+0], then nopl [rax]: 10 and 3 bytes.
  CHECK(analyze(body, {0x66, 0x2E, 0x0F, 0x1F, 0x84, 0, 0, 0, 0, 0, 0x0F, 0x1F, 0x00}).refusal ==
        PatchRefusal::kNone);
}

TEST_CASE("functions of every length from 1 to 15 bytes are patched from 5 on") {
  for (std::size_t bytes = 1; bytes <= 15; ++bytes) {
    INFO(bytes, " bytes");
    std::vector<unsigned> code(bytes, 0x90);
    code.back() = 0xC3;
    CHECK((analyze(code).refusal == PatchRefusal::kNone) == (bytes >= kPatchBytes));
  }
}
