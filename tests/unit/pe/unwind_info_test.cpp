#include "alloctap/pe/unwind_info.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

// The numbers of registers in the tables are those of x86-64's instructions.
#if defined(__x86_64__)

namespace {

using namespace alloctap::pe;
using alloctap::arch::DwarfRegisters;
using alloctap::elf::CallFrameRow;
using alloctap::elf::CfaRule;
using alloctap::elf::RegisterRule;

constexpr unsigned kRbx = 3;
constexpr unsigned kRsi = 4;
constexpr std::uint8_t kIsPart = 4;

/// Unwind information at the start of a module, and what it says of a function at [100, 200).
class Info {
 public:
  Info(std::uint8_t flags, std::uint8_t frame_pointer, std::initializer_list<unsigned> slots,
       std::uint8_t version = 1) {
    put(static_cast<std::uint8_t>(version | flags << 3));
    put(40);
    put(static_cast<std::uint8_t>(slots.size()));
    put(frame_pointer);
    for (const unsigned slot : slots) put_two(slot);
    if (slots.size() % 2 == 1) put_two(0);
  }

  void put_word(std::uint32_t word) {
    put_two(word & 0xFFFFU);
    put_two(word >> 16);
  }

  /// At `pc` bytes behind the function's begin.
  [[nodiscard]] bool read(std::uint32_t pc, CallFrameRow& row) const {
    return PrologueReader(bytes).read({.begin = 100, .end = 200, .unwind_info = 0}, 100 + pc, row);
  }

  std::vector<std::byte> bytes;

 private:
  void put(std::uint8_t byte) { bytes.push_back(std::byte{byte}); }
  void put_two(unsigned slot) {
    put(static_cast<std::uint8_t>(slot & 255U));
    put(static_cast<std::uint8_t>(slot >> 8));
  }
};

/// A slot: the operation that ends `offset` bytes behind the function's begin.
constexpr unsigned code(unsigned offset, unsigned operation, unsigned detail = 0) {
  return offset | operation << 8 | detail << 12;
}

void check_cfa(const CallFrameRow& row, unsigned base, std::int64_t offset) {
  CHECK(row.cfa.kind == CfaRule::Kind::kRegisterPlusOffset);
  CHECK(row.cfa.register_number == base);
  CHECK(row.cfa.value == offset);
  CHECK(row.return_address().kind == RegisterRule::Kind::kAtCfaPlus);
  CHECK(row.return_address().value == -8);
}

void check_saved(const CallFrameRow& row, unsigned number, std::int64_t offset) {
  CHECK(row.registers[number].kind == RegisterRule::Kind::kAtCfaPlus);
  CHECK(row.registers[number].value == offset);
}

}  // namespace

TEST_CASE("a prologue of pushes and a small allocation is undone in order") {
  // push rbp; push rsi; push rbx; sub rsp, 32
  const Info info(0, 0, {code(8, 2, 3), code(4, 0, 3), code(2, 0, 6), code(1, 0, 5)});
  CallFrameRow row;
  REQUIRE(info.read(50, row));
  check_cfa(row, DwarfRegisters::kStackPointer, 32 + 3 * 8 + 8);
  check_saved(row, DwarfRegisters::kFramePointer, -16);
  check_saved(row, kRsi, -24);
  check_saved(row, kRbx, -32);
}

TEST_CASE("inside of a prologue only what was executed counts") {
  const Info info(0, 0, {code(8, 2, 3), code(4, 0, 3), code(2, 0, 6), code(1, 0, 5)});
  CallFrameRow row;
  REQUIRE(info.read(0, row));
  check_cfa(row, DwarfRegisters::kStackPointer, 8);
  CHECK(row.registers[DwarfRegisters::kFramePointer].kind == RegisterRule::Kind::kUnspecified);
  REQUIRE(info.read(2, row));
  check_cfa(row, DwarfRegisters::kStackPointer, 24);
  check_saved(row, kRsi, -24);
  CHECK(row.registers[kRbx].kind == RegisterRule::Kind::kUnspecified);
}

TEST_CASE("large allocations are told in words or in bytes") {
  CallFrameRow row;
  REQUIRE(Info(0, 0, {code(7, 1), 0x1234}).read(50, row));
  check_cfa(row, DwarfRegisters::kStackPointer, 0x1234 * 8 + 8);
  REQUIRE(Info(0, 0, {code(7, 1, 1), 0x5678, 0x0012}).read(50, row));
  check_cfa(row, DwarfRegisters::kStackPointer, 0x125678 + 8);
}

TEST_CASE("once a frame pointer is set, all is counted from it") {
  // push rbp; push rbx; sub rsp, 0x88; lea rbp, [rsp + 0x80]; then another allocation.
  const Info info(0, 5 | 8 << 4,
                  {code(20, 2, 1), code(12, 3), code(9, 1), 0x11, code(2, 0, 3), code(1, 0, 5)});
  CallFrameRow row;
  REQUIRE(info.read(50, row));
  check_cfa(row, DwarfRegisters::kFramePointer, -0x80 + 0x88 + 16 + 8);
  check_saved(row, DwarfRegisters::kFramePointer, -16);
  check_saved(row, kRbx, -24);
  // Before that it is the stack pointer.
  REQUIRE(info.read(10, row));
  check_cfa(row, DwarfRegisters::kStackPointer, 0x88 + 16 + 8);
}

TEST_CASE("registers that were moved to the frame are found, near and far") {
  const Info info(0, 0, {code(20, 4, 3), 4, code(16, 5, 6), 0x10, 0x0001, code(8, 1), 0x4000});
  CallFrameRow row;
  REQUIRE(info.read(50, row));
  const std::int64_t cfa = 0x4000 * 8 + 8;
  check_cfa(row, DwarfRegisters::kStackPointer, cfa);
  check_saved(row, kRbx, 4 * 8 - cfa);
  check_saved(row, kRsi, 0x10010 - cfa);
}

TEST_CASE("vectors and the marks of epilogues are passed by") {
  const Info info(
      0, 0, {code(1, 6), 0, code(30, 8, 6), 2, code(25, 9, 7), 0, 1, code(4, 2, 4), code(1, 0, 3)},
      2);
  CallFrameRow row;
  REQUIRE(info.read(50, row));
  check_cfa(row, DwarfRegisters::kStackPointer, 5 * 8 + 8 + 8);
  check_saved(row, kRbx, -16);
}

TEST_CASE("a part of a function goes on with the whole prologue of what it is a part of") {
  // The outer part, behind the inner one's 16 bytes: push rbx; sub rsp, 16.
  Info inner(kIsPart, 0, {code(4, 2, 1)});
  const Info outer(0, 0, {code(30, 2, 1), code(20, 0, 3)});
  inner.put_word(10);
  inner.put_word(20);
  inner.put_word(20);
  inner.bytes.insert(inner.bytes.end(), outer.bytes.begin(), outer.bytes.end());
  REQUIRE(inner.bytes.size() == 28);
  CallFrameRow row;
  REQUIRE(inner.read(0, row));
  check_cfa(row, DwarfRegisters::kStackPointer, 16 + 8 + 8);
  REQUIRE(inner.read(50, row));
  check_cfa(row, DwarfRegisters::kStackPointer, 16 + 16 + 8 + 8);
  check_saved(row, kRbx, -16);
}

TEST_CASE("a part of a function with a frame pointer saves registers relative to that") {
  // The outer part: push rbp; lea rbp, [rsp + 32]. The inner one: mov [rbp - 32 + 24], rsi.
  Info inner(kIsPart, 0x25, {code(4, 4, 6), 3});
  const Info outer(0, 0x25, {code(20, 3), code(10, 0, 5)});
  inner.put_word(10);
  inner.put_word(20);
  inner.put_word(20);
  inner.bytes.insert(inner.bytes.end(), outer.bytes.begin(), outer.bytes.end());
  CallFrameRow row;
  REQUIRE(inner.read(50, row));
  check_cfa(row, 6, -32 + 8 + 8);
  check_saved(row, kRsi, (-32 + 24) - (-32 + 8 + 8));
}

TEST_CASE("what is interrupted, unknown or cut off is no row") {
  CallFrameRow row;
  CHECK_FALSE(Info(0, 0, {code(0, 10)}).read(50, row));
  CHECK_FALSE(Info(0, 0, {code(0, 12)}).read(50, row));
  CHECK_FALSE(Info(0, 0, {}, 3).read(50, row));
  Info cut(0, 0, {code(7, 1), 0x1234});
  cut.bytes.resize(6);
  CHECK_FALSE(cut.read(50, row));
  // A part of itself.
  Info loop(kIsPart, 0, {});
  for (int i = 0; i < 3; ++i) loop.put_word(0);
  CHECK_FALSE(loop.read(50, row));
}

TEST_CASE("the entry that holds an address is found, and none beside it") {
  constexpr FunctionEntry kEntries[] = {{10, 20, 0}, {20, 30, 0}, {40, 50, 0}};
  CHECK(find_function(kEntries, 9) == nullptr);
  CHECK(find_function(kEntries, 10) == &kEntries[0]);
  CHECK(find_function(kEntries, 20) == &kEntries[1]);
  CHECK(find_function(kEntries, 30) == nullptr);
  CHECK(find_function(kEntries, 49) == &kEntries[2]);
  CHECK(find_function(kEntries, 50) == nullptr);
  CHECK(find_function({}, 0) == nullptr);
}

#endif
