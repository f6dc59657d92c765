#include "alloctap/arch/aarch64/relocated_code.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace alloctap::arch;
using namespace alloctap::arch::aarch64;

constexpr std::uintptr_t kAddress = 0x7F0010000000;
/// 1 MiB below; b from the third word of a trampoline to behind the entry: 0x100000 - 4.
constexpr std::uintptr_t kPlace = kAddress - 0x100000;
constexpr std::uint32_t kPad = 0xD503245F;  // bti c

struct Moved {
  RelocatedCode code;
  std::array<std::byte, kTrampolineBytes> room{};

  [[nodiscard]] std::vector<std::uint32_t> words() const {
    std::vector<std::uint32_t> words(code.size / 4);
    std::memcpy(words.data(), room.data(), code.size);
    return words;
  }
  [[nodiscard]] std::uint64_t literal() const {
    std::uint64_t value = 0;
    std::memcpy(&value, room.data() + kTrampolineBytes - sizeof value, sizeof value);
    return value;
  }
};

Moved move_words(const std::vector<std::uint32_t>& words, std::uintptr_t at) {
  const DisplacedCode displaced = analyze_function({kAddress, std::as_bytes(std::span(words)), {}});
  REQUIRE(displaced.refusal == PatchRefusal::kNone);
  Moved moved;
  moved.code = relocate(displaced, moved.room, at);
  return moved;
}

/// What a single instruction becomes at kPlace, behind the landing pad.
struct Row {
  const char* what;
  std::uint32_t word;
  std::vector<std::uint32_t> expected;
  std::uint64_t literal = 0;
};

/// b from the trampoline's word `index` to `offset` from the entry.
constexpr std::uint32_t branch(std::uintptr_t index, std::int64_t offset) {
  return branch_word(kPlace + 4 * index, kAddress + static_cast<std::uintptr_t>(offset));
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all{
      {"nop", 0xD503201F, {0xD503201F, branch(2, 4)}},
      {"svc #0", 0xD4000001, {0xD4000001, branch(2, 4)}},
      {"ret", 0xD65F03C0, {0xD65F03C0}},
      {"br x3", 0xD61F0060, {0xD61F0060}},
      {"b .+0x1000", 0x14000400, {branch(1, 0x1000)}},
      {"b.ne .+0x100", 0x54000801, {0x54000041, branch(2, 4), branch(3, 0x100)}},
      {"bc.ne .+0x100", 0x54000811, {0x54000051, branch(2, 4), branch(3, 0x100)}},
      {"cbz w3, .-0x100", 0x34FFF803, {0x34000043, branch(2, 4), branch(3, -0x100)}},
      {"cbnz x3, .+0x100", 0xB5000803, {0xB5000043, branch(2, 4), branch(3, 0x100)}},
      {"tbz w5, #3, .+0x100", 0x36180805, {0x36180045, branch(2, 4), branch(3, 0x100)}},
      {"tbnz x5, #40, .-0x8000", 0xB7440005, {0xB7400045, branch(2, 4), branch(3, -0x8000)}},
      // ldr x30, the literal; b
      {"bl .+0x1000", 0x94000400, {0x580000BE, branch(2, 0x1000)}, kAddress + 4},
      // ldr x30; br x3
      {"blr x3", 0xD63F0060, {0x580000BE, 0xD61F0060}, kAddress + 4},
      // mov x17, x30; ldr x30; br x17
      {"blr x30", 0xD63F03C0, {0xAA1E03F1, 0x5800009E, 0xD61F0220}, kAddress + 4},
      // ldr x30; braa x3, sp
      {"blraa x3, sp", 0xD73F087F, {0x580000BE, 0xD71F087F}, kAddress + 4},
      {"blraaz x3", 0xD63F087F, {0x580000BE, 0xD61F087F}, kAddress + 4},
      // mov x16, x30; ldr x30; braa x16, x17
      {"blraa x30, x17", 0xD73F0BD1, {0xAA1E03F0, 0x5800009E, 0xD71F0A11}, kAddress + 4},
      {"blrab x17, x30", 0xD73F0E3E, {0xAA1E03F0, 0x5800009E, 0xD71F0E30}, kAddress + 4},
      // mov x17, x30; ldr x30; braa x17, x17
      {"blraa x30, x30", 0xD73F0BDE, {0xAA1E03F1, 0x5800009E, 0xD71F0A31}, kAddress + 4},
      // ldr x2, the literal
      {"adr x2, .+0x1003", 0x70008002, {0x580000A2, branch(2, 4)}, kAddress + 0x1003},
      {"adrp x2, 1 page on", 0xB0000002, {0x580000A2, branch(2, 4)}, kAddress + 0x1000},
      // ldr x4, the literal; ldr w4, [x4]; and so on
      {"ldr w4, .+0x100", 0x18000804, {0x580000A4, 0xB9400084, branch(3, 4)}, kAddress + 0x100},
      {"ldr x4, .-0x100", 0x58FFF804, {0x580000A4, 0xF9400084, branch(3, 4)}, kAddress - 0x100},
      {"ldrsw x4, .+0x100", 0x98000804, {0x580000A4, 0xB9800084, branch(3, 4)}, kAddress + 0x100},
      // By way of x17.
      {"ldr xzr, .+0x100", 0x5800081F, {0x580000B1, 0xF940023F, branch(3, 4)}, kAddress + 0x100},
      {"ldr s4, .+0x100", 0x1C000804, {0x580000B1, 0xBD400224, branch(3, 4)}, kAddress + 0x100},
      {"ldr d4, .+0x100", 0x5C000804, {0x580000B1, 0xFD400224, branch(3, 4)}, kAddress + 0x100},
      {"ldr q4, .+0x100", 0x9C000804, {0x580000B1, 0x3DC00224, branch(3, 4)}, kAddress + 0x100},
      {"prfm pldl1keep, .+0x100",
       0xD8000800,
       {0x580000B1, 0xF9800220, branch(3, 4)},
       kAddress + 0x100},
  };
  return all;
}

}  // namespace

TEST_CASE("every form of instruction becomes one that does the same elsewhere") {
  for (const Row& row : rows()) {
    INFO(std::string(row.what));
    const Moved moved = move_words({row.word}, kPlace);
    CHECK(moved.code.refusal == PatchRefusal::kNone);
    std::vector<std::uint32_t> expected{kPad};
    expected.insert(expected.end(), row.expected.begin(), row.expected.end());
    CHECK((moved.words() == expected));
    CHECK(moved.literal() == row.literal);
  }
}

TEST_CASE("what a landing pad signed is signed anew, before the displaced instruction") {
  constexpr std::uint32_t kSigning = 0xD503237F;  // pacibsp
  const Moved moved = move_words({kSigning, 0x94000400}, kPlace);
  // pacibsp; ldr x30, the literal; b
  const std::vector<std::uint32_t> expected{kPad, kSigning, 0x5800009E, branch(3, 0x1004)};
  CHECK((moved.words() == expected));
  CHECK(moved.literal() == kAddress + 8);
  const Moved longest = move_words({kSigning, 0xB5000803}, kPlace);
  CHECK(longest.code.size == 20);
}

TEST_CASE("from further away than a branch reaches, what branches is refused") {
  constexpr std::uintptr_t kReach = std::uintptr_t{1} << 27;
  const auto refusal = [](std::uint32_t word, std::uintptr_t at) {
    return move_words({word}, at).code.refusal;
  };
  using enum PatchRefusal;
  // b .+0x1000, behind the landing pad.
  CHECK(refusal(0x14000400, kAddress + 0x1000 - kReach) == kNone);
  CHECK(refusal(0x14000400, kAddress + 0x1000 - kReach - 8) == kOperandOutOfReach);
  CHECK(refusal(0x14000400, kAddress + 0x1000 + kReach - 4 - 4) == kNone);
  CHECK(refusal(0x14000400, kAddress + 0x1000 + kReach) == kOperandOutOfReach);
  // b.ne; the way back.
  CHECK(refusal(0x54000801, kAddress - kReach - 64) == kOperandOutOfReach);
  CHECK(refusal(0xD503201F, kAddress + kReach) == kOperandOutOfReach);
  // bl and ret.
  CHECK(refusal(0x94000400, 0x10000) == kOperandOutOfReach);
  CHECK(refusal(0xD65F03C0, 0x10000) == kNone);
}
