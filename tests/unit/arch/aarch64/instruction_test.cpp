#include "alloctap/arch/aarch64/instruction.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace alloctap::arch::aarch64;

constexpr std::uintptr_t kAddress = 0x7F0000401008;

/// `offset` is the target's, from the instruction; for adrp, from its page.
struct Row {
  const char* what;
  std::uint32_t word;
  Form form;
  std::int64_t offset = 0;
  int loaded_bytes = 0;
};

const std::vector<Row>& rows() {
  using enum Form;
  // As GNU as 2.40 encodes them.
  static const std::vector<Row> all{
      {"b .+0x1000", 0x14000400, kJump, 0x1000},
      {"b .-0x8000000", 0x16000000, kJump, -0x8000000},
      {"bl .+0x1000", 0x94000400, kCall, 0x1000},
      {"b.ne .+0x100", 0x54000801, kConditionalJump, 0x100},
      {"bc.ne .+0x100", 0x54000811, kConditionalJump, 0x100},
      {"cbz w3, .-0x100", 0x34FFF803, kConditionalJump, -0x100},
      {"cbnz x3, .+0x100", 0xB5000803, kConditionalJump, 0x100},
      {"tbz w5, #3, .+0x100", 0x36180805, kConditionalJump, 0x100},
      {"tbnz x5, #40, .-0x8000", 0xB7440005, kConditionalJump, -0x8000},
      {"adr x2, .+0x1003", 0x70008002, kAddress, 0x1003},
      {"adr x2, .-1", 0x70FFFFE2, kAddress, -1},
      {"adrp x2, 1 page on", 0xB0000002, kPageAddress, 0x1000},
      {"adrp x2, 4 GiB back", 0x90800002, kPageAddress, -0x100000000},
      {"ldr w4, .+0x100", 0x18000804, kLoad, 0x100, 4},
      {"ldr x4, .-0x100", 0x58FFF804, kLoad, -0x100, 8},
      {"ldrsw x4, .+0x100", 0x98000804, kLoad, 0x100, 4},
      {"prfm pldl1keep, .+0x100", 0xD8000800, kLoad, 0x100, 0},
      {"ldr s4, .+0x100", 0x1C000804, kLoad, 0x100, 4},
      {"ldr d4, .+0x100", 0x5C000804, kLoad, 0x100, 8},
      {"ldr q4, .+0x100", 0x9C000804, kLoad, 0x100, 16},
      {"no load of a literal", 0xDC000804, kUnknown},
      {"br x3", 0xD61F0060, kIndirectJump},
      {"blr x30", 0xD63F03C0, kIndirectCall},
      {"ret", 0xD65F03C0, kIndirectJump},
      {"brabz x3", 0xD61F0C7F, kIndirectJump},
      {"blraaz x3", 0xD63F087F, kIndirectCall},
      {"braa x3, sp", 0xD71F087F, kIndirectJump},
      {"blrab x17, x30", 0xD73F0E3E, kIndirectCall},
      {"retaa", 0xD65F0BFF, kIndirectJump},
      {"retab", 0xD65F0FFF, kIndirectJump},
      {"bti", 0xD503241F, kLandingPad},
      {"bti c", 0xD503245F, kLandingPad},
      {"bti j", 0xD503249F, kLandingPad},
      {"bti jc", 0xD50324DF, kLandingPad},
      {"paciasp", 0xD503233F, kSigningPad},
      {"pacibsp", 0xD503237F, kSigningPad},
      {"autiasp", 0xD50323BF, kMovable},
      {"paciaz", 0xD503231F, kMovable},
      {"pacia x30, sp", 0xDAC103FE, kMovable},
      {"pacm", 0xD50324FF, kBoundToPlace},
      {"paciasppc", 0xDAC1A3FE, kBoundToPlace},
      {"pacnbibsppc", 0xDAC187FE, kBoundToPlace},
      {"autiasppc .-16", 0xF380009F, kBoundToPlace},
      {"autibsppc .-20", 0xF3A000BF, kBoundToPlace},
      {"retaasppc .-4", 0x5500003F, kBoundToPlace},
      {"brk #1", 0xD4200020, kBreakpoint},
      {"svc #0", 0xD4000001, kMovable},
      {"nop", 0xD503201F, kMovable},
      {"mrs x0, tpidr_el0", 0xD53BD040, kMovable},
      {"udf #0", 0x00000000, kUnknown},
      {"not allocated", 0x02000000, kUnknown},
      {"not allocated either", 0x86000000, kUnknown},
      {"cbgt w0, w1: two registers compared", 0x74010000, kUnknownBranch},
      {"casp x0, x1, x2, x3, [x4]", 0x48207C82, kMovable},
      {"cas x0, x1, [x4]", 0xC8A07C81, kMovable},
      {"ldar x0, [x1]", 0xC8DFFC20, kMovable},
      {"ldxr x0, [x1]", 0xC85F7C20, kBoundToPlace},
      {"stxr w2, x0, [x1]", 0xC8027C20, kBoundToPlace},
      {"ldaxp x0, x1, [x2]", 0xC87F8440, kBoundToPlace},
      {"cpyfp [x0]!, [x1]!, x2!", 0x19010440, kBoundToPlace},
      {"cpyp [x0]!, [x1]!, x2!", 0x1D010440, kBoundToPlace},
      {"setp [x0]!, x1!, x2", 0x19C20420, kBoundToPlace},
      {"ldapur x0, [x1, #8]", 0xD9408020, kMovable},
      {"stg x0, [x1]", 0xD9200820, kMovable},
      {"mov x29, sp", 0x910003FD, kMovable},
      {"stp x29, x30, [sp, #-16]!", 0xA9BF7BFD, kMovable},
      {"add z0.b, z0.b, z1.b", 0x04210000, kMovable},
      {"fmov d0, #1.0", 0x1E6E1000, kMovable},
      {"mova z0.s, p0/m, za0h.s[w12, 0]", 0xC0820000, kMovable},
  };
  return all;
}

}  // namespace

TEST_CASE("instructions of A64 are told by what moving them takes, with their targets") {
  for (const Row& row : rows()) {
    INFO(std::string(row.what));
    const Instruction instruction = decode_instruction(row.word, kAddress);
    CHECK(static_cast<int>(instruction.form) == static_cast<int>(row.form));
    CHECK(instruction.loaded_bytes == row.loaded_bytes);
    const bool is_page = row.form == Form::kPageAddress;
    const std::uintptr_t base = is_page ? kAddress & ~std::uintptr_t{0xFFF} : kAddress;
    const std::uintptr_t target = base + static_cast<std::uintptr_t>(row.offset);
    CHECK(instruction.target == (row.offset == 0 ? 0 : target));
    CHECK(instruction.end() == kAddress + 4);
  }
}

TEST_CASE("an instruction is read from bytes, lowest first") {
  constexpr std::byte kCode[]{std::byte{0x00}, std::byte{0x04}, std::byte{0x00}, std::byte{0x14}};
  CHECK(decode_instruction(kCode, kAddress).target == kAddress + 0x1000);
}
