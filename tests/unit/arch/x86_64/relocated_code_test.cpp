#include "alloctap/arch/x86_64/relocated_code.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/moved_code.hpp"

namespace {

using namespace alloctap::arch;
using namespace alloctap::arch::x86_64;

constexpr std::uintptr_t kAddress = 0x7F0000401000;
constexpr std::uintptr_t kNear = kAddress + 0x10000000;
constexpr std::uintptr_t kFar = 0x10000;

struct Row {
  const char* what;
  std::vector<unsigned> code;
  bool has_operand = false;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all{
      {"push; mov; sub", {0x55, 0x48, 0x89, 0xE5, 0x48, 0x83, 0xEC, 8}},
      {"mov rax, [rip+1000]", {0x48, 0x8B, 0x05, 0x00, 0x10, 0, 0}, true},
      {"cmpb [rip+1000], 7", {0x80, 0x3D, 0x00, 0x10, 0, 0, 7}, true},
      {"movl [rip+1000], imm32", {0xC7, 0x05, 0x00, 0x10, 0, 0, 1, 2, 3, 4}, true},
      {"vmovdqu ymm0, [rip+1000]", {0xC5, 0xFE, 0x6F, 0x05, 0x00, 0x10, 0, 0}, true},
      {"push; push; cmp [rip+1000], 1", {0x55, 0x53, 0x83, 0x3D, 0x00, 0x10, 0, 0, 1}, true},
      {"call rel32", {0xE8, 0x00, 0x10, 0, 0, 0x90}},
      {"push; call rel32", {0x50, 0xE8, 0x00, 0x10, 0, 0, 0x90}},
      {"data16 rex.W call rel32", {0x66, 0x66, 0x48, 0xE8, 0, 0x10, 0, 0, 0x90}},
      {"call rax", {0x90, 0x90, 0x90, 0xFF, 0xD0, 0x90}},
      {"call r11", {0x90, 0x90, 0x41, 0xFF, 0xD3, 0x90}},
      {"call [rip+1000]", {0xFF, 0x15, 0x00, 0x10, 0, 0, 0x90}, true},
      {"call [rbx+8*rcx+16]", {0x90, 0x90, 0xFF, 0x54, 0xCB, 0x10, 0x90}},
      {"jmp rel32", {0xE9, 0x00, 0x10, 0, 0}},
      {"bnd jmp rel32", {0xF2, 0xE9, 0x00, 0x10, 0, 0}},
      {"jmp [rip+1000]", {0xFF, 0x25, 0x00, 0x10, 0, 0}, true},
      {"test; je rel8", {0x48, 0x85, 0xFF, 0x74, 0x20, 0x90}},
      {"test; jle rel32", {0x85, 0xFF, 0x0F, 0x8E, 0, 0x10, 0, 0}},
      {"jo; jno; jb", {0x70, 0x10, 0x71, 0x10, 0x72, 0x10}},
      {"jrcxz", {0xE3, 0x40, 0x90, 0x90, 0x90}},
      {"jecxz", {0x67, 0xE3, 0x40, 0x90, 0x90}},
      {"loop; loope", {0xE2, 0x40, 0xE1, 0x40, 0x90}},
      {"je over a nop, inside", {0x74, 0x01, 0x90, 0x90, 0x90}},
      {"jmp over two widened branches, inside", {0x74, 0x40, 0xEB, 0xFC, 0x90}},
      {"loop over itself, inside", {0x90, 0xE2, 0xFD, 0x90, 0x90}},
      {"je to the first, inside", {0x90, 0x90, 0x74, 0xFC, 0x90}},
      {"endbr64; xor; je rel8", {0xF3, 0x0F, 0x1E, 0xFA, 0x31, 0xC0, 0x74, 0x10, 0x90, 0x90}},
      {"mov eax, 11; syscall", {0xB8, 11, 0, 0, 0, 0x0F, 0x05}},
      {"ret; padding", {0xC3, 0x90, 0x90, 0x90, 0x90}},
  };
  return all;
}

std::vector<std::byte> bytes_of(const Row& row) {
  std::vector<std::byte> bytes;
  for (const unsigned number : row.code) bytes.push_back(static_cast<std::byte>(number));
  return bytes;
}

}  // namespace

TEST_CASE("every form of instruction does the same elsewhere") {
  for (const Row& row : rows()) {
    INFO(std::string(row.what));
    const auto code = bytes_of(row);
    const auto within_reach = alloctap_test::move_entry({kAddress, code, {}}, kNear);
    CHECK(std::string(describe(within_reach.refusal)) == describe(PatchRefusal::kNone));
    CHECK(within_reach.is_same);
    const auto out_of_reach = alloctap_test::move_entry({kAddress, code, {}}, kFar);
    CHECK((out_of_reach.refusal == PatchRefusal::kOperandOutOfReach) == row.has_operand);
    CHECK(out_of_reach.is_same);
  }
}

TEST_CASE("code that does not fit is refused and nothing is written behind its room") {
  const auto code = bytes_of(rows().front());
  const DisplacedCode displaced = analyze_function({kAddress, code, {}});
  std::array<std::byte, 12> room{};
  room.back() = std::byte{0x77};
  CHECK(relocate(displaced, std::span(room).first(11), kNear).refusal ==
        PatchRefusal::kTrampolineFull);
  CHECK(room.back() == std::byte{0x77});
}

TEST_CASE("moved code starts with a landing pad, and ends with the way back if there is one") {
  const auto code = bytes_of(rows().front());
  const DisplacedCode displaced = analyze_function({kAddress, code, {}});
  std::array<std::byte, kTrampolineBytes> room{};
  const RelocatedCode moved = relocate(displaced, room, kNear);
  CHECK(decode_instruction(room, kNear)->is_landing_pad);
  CHECK(moved.offsets[0] == 4);
  CHECK(moved.offsets[2] == 8);
  CHECK(moved.size == 4 + 8 + 5);
  const auto back = decode_instruction(std::span(room).subspan(12), kNear + 12);
  CHECK(back->destination == kAddress + 8);
}
