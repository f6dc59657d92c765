#include "alloctap/elf/dwarf_expression.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <vector>

#include "tests/unit/elf/unwind_bytes.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::elf::DwarfExpression;
using alloctap::elf::RegisterFile;

constexpr std::uintptr_t kWordAt = 0x1008;
constexpr std::uintptr_t kWord = 0x1122334455667788;

constexpr auto read_memory = [](std::uintptr_t address, std::uintptr_t& word) noexcept {
  word = kWord;
  return address == kWordAt;
};

/// The value of an expression where rsp is 0x1000 and nothing else is known.
std::optional<std::uintptr_t> evaluate(const std::vector<std::byte>& expression,
                                       std::optional<std::uintptr_t> initial = std::nullopt) {
  const GuardedBytes bytes(expression);
  RegisterFile registers;
  registers.set(7, 0x1000);
  return DwarfExpression(bytes.span(), registers, read_memory).evaluate(initial);
}

std::optional<std::uintptr_t> evaluate(std::initializer_list<unsigned> expression) {
  return evaluate(raw(expression));
}

constexpr auto kAllOnes = static_cast<std::uintptr_t>(-1);

}  // namespace

TEST_CASE("constants of every width") {
  CHECK(evaluate({0x30}) == 0);
  CHECK(evaluate({0x4F}) == 31);
  CHECK(evaluate(ByteWriter().u8(0x03).u64(99).bytes()) == 99);
  CHECK(evaluate({0x08, 0xFF}) == 0xFF);
  CHECK(evaluate({0x09, 0xFF}) == kAllOnes);
  CHECK(evaluate({0x0A, 0xFF, 0xFF}) == 0xFFFF);
  CHECK(evaluate({0x0B, 0xFF, 0xFF}) == kAllOnes);
  CHECK(evaluate({0x0C, 0xFF, 0xFF, 0xFF, 0xFF}) == 0xFFFFFFFF);
  CHECK(evaluate({0x0D, 0xFF, 0xFF, 0xFF, 0xFF}) == kAllOnes);
  CHECK(evaluate(ByteWriter().u8(0x0E).u64(kWord).bytes()) == kWord);
  CHECK(evaluate(ByteWriter().u8(0x0F).u64(kWord).bytes()) == kWord);
  CHECK(evaluate({0x10, 0xE5, 0x8E, 0x26}) == 624485);
  CHECK(evaluate({0x11, 0x7F}) == kAllOnes);
}

TEST_CASE("registers plus an offset, where they are known") {
  CHECK(evaluate({0x77, 0x08}) == 0x1008);
  CHECK(evaluate({0x77, 0x78}) == 0xFF8);
  CHECK(evaluate({0x92, 0x07, 0x08}) == 0x1008);
  CHECK_FALSE(evaluate({0x76, 0x08}).has_value());
  CHECK_FALSE(evaluate({0x8F, 0x08}).has_value());
  CHECK_FALSE(evaluate({0x92, 0xFF, 0x7F, 0x08}).has_value());
}

TEST_CASE("memory, where it may be read") {
  CHECK(evaluate({0x77, 0x08, 0x06}) == kWord);
  CHECK(evaluate({0x77, 0x08, 0x94, 0x01}) == 0x88);
  CHECK(evaluate({0x77, 0x08, 0x94, 0x04}) == 0x55667788);
  CHECK(evaluate({0x77, 0x08, 0x94, 0x08}) == kWord);
  CHECK_FALSE(evaluate({0x77, 0x08, 0x94, 0x00}).has_value());
  CHECK_FALSE(evaluate({0x77, 0x08, 0x94, 0x09}).has_value());
  CHECK_FALSE(evaluate({0x77, 0x10, 0x06}).has_value());
  CHECK_FALSE(evaluate({0x06}).has_value());
}

TEST_CASE("operations on the stack") {
  CHECK(evaluate({0x32, 0x33, 0x12, 0x22, 0x22}) == 8);
  CHECK(evaluate({0x32, 0x33, 0x13}) == 2);
  CHECK(evaluate({0x32, 0x33, 0x14}) == 2);
  CHECK(evaluate({0x32, 0x33, 0x34, 0x15, 0x02}) == 2);
  CHECK(evaluate({0x32, 0x33, 0x16}) == 2);
  CHECK(evaluate({0x32, 0x33, 0x34, 0x17}) == 3);
  CHECK(evaluate({0x35, 0x32, 0x1C}) == 3);
  CHECK(evaluate({0x35, 0x96}) == 5);
}

TEST_CASE("operations on one word") {
  CHECK(evaluate({0x09, 0xFF, 0x19}) == 1);
  CHECK(evaluate({0x31, 0x19}) == 1);
  CHECK(evaluate({0x31, 0x1F}) == kAllOnes);
  CHECK(evaluate({0x30, 0x20}) == kAllOnes);
  CHECK(evaluate({0x31, 0x23, 0x80, 0x01}) == 129);
}

TEST_CASE("branches stay inside") {
  CHECK(evaluate({0x35, 0x2F, 0x01, 0x00, 0x30}) == 5);
  CHECK(evaluate({0x35, 0x31, 0x28, 0x01, 0x00, 0x30}) == 5);
  CHECK(evaluate({0x35, 0x30, 0x28, 0x01, 0x00, 0x30}) == 0);
  CHECK_FALSE(evaluate({0x35, 0x2F, 0x01, 0x00}).has_value());
  CHECK_FALSE(evaluate({0x35, 0x2F, 0xFB, 0xFF}).has_value());
  CHECK_FALSE(evaluate({0x35, 0x2F, 0x00, 0x80}).has_value());
  CHECK_FALSE(evaluate({0x35, 0x2F, 0xFF, 0x7F}).has_value());
}

TEST_CASE("a loop runs, and an endless one ends") {
  // 5, then subtract one until it is one.
  CHECK(evaluate({0x35, 0x31, 0x1C, 0x12, 0x31, 0x2E, 0x28, 0xF8, 0xFF}) == 1);
  CHECK_FALSE(evaluate({0x35, 0x2F, 0xFD, 0xFF}).has_value());
  CHECK_FALSE(evaluate({0x31, 0x2F, 0xFC, 0xFF}).has_value());
}

TEST_CASE("the CFA lies on the stack at the start") {
  CHECK(evaluate(raw({0x38, 0x1C}), 0x2000) == 0x1FF8);
  CHECK(evaluate(std::vector<std::byte>{}, 0x2000) == 0x2000);
  CHECK_FALSE(evaluate(std::vector<std::byte>{}).has_value());
}

TEST_CASE("a linker's expression for its PLT") {
  // rsp + 8 + (((rip & 15) >= 11) << 3)
  const std::vector<std::byte> plt =
      raw({0x77, 8, 0x80, 0, 0x3F, 0x1A, 0x3B, 0x2A, 0x33, 0x24, 0x22});
  const auto at = [&](std::uintptr_t pc) {
    RegisterFile registers;
    registers.set(7, 0x1000);
    registers.set(16, pc);
    return DwarfExpression(plt, registers, read_memory).evaluate(std::nullopt);
  };
  CHECK(at(0x401026) == 0x1008);
  CHECK(at(0x40102B) == 0x1010);
}

TEST_CASE("what call frame rules may not use has no value") {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const bool names_frame_or_place = (opcode >= 0x50 && opcode <= 0x6F) || opcode == 0x90 ||
                                      opcode == 0x91 || opcode == 0x93 || opcode == 0x95 ||
                                      opcode > 0x96 || opcode < 0x03;
    if (!names_frame_or_place) continue;
    CAPTURE(opcode);
    CHECK_FALSE(evaluate({0x31, 0x32, opcode, 0x01, 0x01, 0x01}).has_value());
  }
}

TEST_CASE("expressions that break off have no value") {
  for (const unsigned opcode : {0x03U, 0x08U, 0x0BU, 0x0CU, 0x0EU, 0x10U, 0x11U, 0x15U, 0x23U,
                                0x28U, 0x2FU, 0x77U, 0x92U, 0x94U}) {
    CAPTURE(opcode);
    CHECK_FALSE(evaluate({0x31, 0x32, opcode}).has_value());
  }
}
