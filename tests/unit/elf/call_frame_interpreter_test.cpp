#include "alloctap/elf/call_frame_interpreter.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "alloctap/elf/find_row.hpp"
#include "tests/unit/elf/unwind_bytes.hpp"

namespace {

using namespace alloctap::testing;
using namespace alloctap::elf;
using Kind = RegisterRule::Kind;

/// A function of 64 bytes with these instructions, in memory for as long as this lives.
class Function {
 public:
  static constexpr std::size_t kBytes = 64;

  explicit Function(const std::vector<std::byte>& instructions, const CieFields& cie = {})
      : image_(make(instructions, cie, header_)) {}

  /// All rows, and what it came to.
  UnwindStatus run() {
    const auto found = find_frame_description(image_.tables(header_), code());
    if (found.status != UnwindStatus::kFound) return found.status;
    rows.clear();
    CallFrameInterpreter interpreter(found.description);
    while (interpreter.next()) rows.push_back(interpreter.row());
    return interpreter.status();
  }

  UnwindStatus find(std::size_t offset, CallFrameRow& row) const {
    RowSearch search;
    return find_row(image_.tables(header_), code() + offset, row, search);
  }

  [[nodiscard]] std::uintptr_t code() const { return image_.address() + EhFrameWriter::kCode; }

  std::vector<CallFrameRow> rows;

 private:
  static std::vector<std::byte> make(const std::vector<std::byte>& instructions,
                                     const CieFields& cie, std::size_t& header) {
    EhFrameWriter writer;
    writer.add_fde(writer.add_cie(cie), 0, kBytes, instructions);
    header = writer.header();
    return writer.finish();
  }

  std::size_t header_ = 0;
  GuardedBytes image_;
};

bool is_register_plus(const CfaRule& cfa, unsigned number, std::int64_t offset) {
  return cfa.kind == CfaRule::Kind::kRegisterPlusOffset && cfa.register_number == number &&
         cfa.value == offset;
}

UnwindStatus status_of(const std::vector<std::byte>& instructions, const CieFields& cie = {}) {
  return Function(instructions, cie).run();
}

constexpr auto kFound = UnwindStatus::kFound;
constexpr auto kMalformed = UnwindStatus::kMalformed;
constexpr auto kTooComplex = UnwindStatus::kTooComplex;

}  // namespace

TEST_CASE("a function that says nothing has the row of its CIE") {
  Function function({});
  CHECK(function.run() == kFound);
  REQUIRE(function.rows.size() == 1);
  const CallFrameRow& row = function.rows[0];
  CHECK(row.begin == function.code());
  CHECK(row.end == function.code() + Function::kBytes);
  CHECK(is_register_plus(row.cfa, 7, 8));
  CHECK(row.return_address() == RegisterRule{Kind::kAtCfaPlus, 0, -8});
  CHECK(row.registers[6].kind == Kind::kUnspecified);
  CHECK_FALSE(row.signal_frame);
}

TEST_CASE("rows follow a prologue") {
  // push rbp; mov rbp, rsp; ...; leave
  Function function(raw({0x41, 0x0E, 16, 0x86, 2, 0x43, 0x0D, 6, 0x60, 0x0C, 7, 8, 0xC6}));
  CHECK(function.run() == kFound);
  REQUIRE(function.rows.size() == 4);
  const auto spans = [&](std::size_t i, std::size_t begin, std::size_t end) {
    return function.rows[i].begin == function.code() + begin &&
           function.rows[i].end == function.code() + end;
  };
  CHECK(spans(0, 0, 1));
  CHECK(spans(1, 1, 4));
  CHECK(spans(2, 4, 0x24));
  CHECK(spans(3, 0x24, 64));
  CHECK(is_register_plus(function.rows[1].cfa, 7, 16));
  CHECK(function.rows[1].registers[6] == RegisterRule{Kind::kAtCfaPlus, 0, -16});
  CHECK(is_register_plus(function.rows[2].cfa, 6, 16));
  CHECK(is_register_plus(function.rows[3].cfa, 7, 8));
  CHECK(function.rows[3].registers[6].kind == Kind::kUnspecified);
}

TEST_CASE("the row at an address is found") {
  const Function function(raw({0x41, 0x0E, 16, 0x4F, 0x0E, 8}));
  const auto offset_at = [&](std::size_t offset) {
    CallFrameRow row;
    REQUIRE(function.find(offset, row) == kFound);
    return row.cfa.value;
  };
  CHECK(offset_at(0) == 8);
  CHECK(offset_at(1) == 16);
  CHECK(offset_at(15) == 16);
  CHECK(offset_at(16) == 8);
  CHECK(offset_at(63) == 8);
  CallFrameRow row;
  CHECK(function.find(64, row) == UnwindStatus::kNoDescription);
}

TEST_CASE("a row is found in front of what is wrong, and not behind it") {
  const Function function(raw({0x50, 0x3F}));
  CallFrameRow row;
  CHECK(function.find(15, row) == kFound);
  CHECK(function.find(16, row) == kTooComplex);
}

TEST_CASE("registers are restored to what the CIE said") {
  Function function(raw({0x90, 3, 0x07, 3, 0x41, 0xD0, 0x06, 3}));
  CHECK(function.run() == kFound);
  REQUIRE(function.rows.size() == 2);
  CHECK(function.rows[0].return_address().value == -24);
  CHECK(function.rows[0].registers[3].kind == Kind::kUndefined);
  CHECK(function.rows[1].return_address().value == -8);
  CHECK(function.rows[1].registers[3].kind == Kind::kUnspecified);
}

TEST_CASE("a remembered row comes back whole, but for the location") {
  Function function(raw({0x0E, 16, 0x86, 2, 0x0A, 0x42, 0x0E, 8, 0xC6, 0x42, 0x0B}));
  CHECK(function.run() == kFound);
  REQUIRE(function.rows.size() == 3);
  CHECK(is_register_plus(function.rows[1].cfa, 7, 8));
  CHECK(is_register_plus(function.rows[2].cfa, 7, 16));
  CHECK(function.rows[2].registers == function.rows[0].registers);
  CHECK(function.rows[2].begin == function.code() + 4);
}

TEST_CASE("rows are remembered in a stack of eight") {
  std::vector<std::byte> nested;
  for (unsigned depth = 1; depth <= CallFrameInterpreter::kMaxRememberedRows; ++depth) {
    for (const auto byte : raw({0x0E, 8 * depth, 0x0A})) nested.push_back(byte);
  }
  auto too_deep = nested;
  too_deep.push_back(std::byte{0x0A});
  CHECK(status_of(too_deep) == kTooComplex);
  for (unsigned depth = 1; depth <= CallFrameInterpreter::kMaxRememberedRows; ++depth) {
    for (const auto byte : raw({0x41, 0x0B})) nested.push_back(byte);
  }
  Function function(nested);
  CHECK(function.run() == kFound);
  CHECK(function.rows.back().cfa.value == 8);
  nested.push_back(std::byte{0x0B});
  CHECK(status_of(nested) == kMalformed);
}

TEST_CASE("advances of nothing make no rows, and ones beyond the end are cut") {
  Function function(raw({0x40, 0x0E, 16, 0x40, 0x7F, 0x0E, 24, 0x7F, 0x0E, 32, 0x41, 0x3F}));
  CHECK(function.run() == kFound);
  REQUIRE(function.rows.size() == 2);
  CHECK(function.rows[0].cfa.value == 16);
  CHECK(function.rows[1].begin == function.code() + 63);
  CHECK(function.rows[1].end == function.code() + 64);
  CHECK(function.rows[1].cfa.value == 24);
}

TEST_CASE("a location never goes back") {
  // From the CIE's encoding: relative to where it is written, which is far below the code.
  CHECK(status_of(ByteWriter().u8(0x41).u8(0x01).u32(8).bytes()) == kMalformed);
  CHECK(status_of(ByteWriter().u8(0x01).u32(0).bytes()) == kMalformed);
  CHECK(status_of(ByteWriter().u8(0x01).u32(EhFrameWriter::kCode + 64).bytes()) == kFound);
  CHECK(status_of(ByteWriter().u8(0x41).bytes(), {.code_alignment = UINT64_MAX}) == kMalformed);
}

TEST_CASE("expressions are rules as well") {
  Function function(ByteWriter()
                        .u8(0x0F)
                        .block(raw({0x77, 8, 6}))
                        .u8(0x10)
                        .uleb(6)
                        .block(raw({0x77, 16}))
                        .bytes());
  CHECK(function.run() == kFound);
  REQUIRE(function.rows.size() == 1);
  CHECK(function.rows[0].cfa.kind == CfaRule::Kind::kExpression);
  CHECK(function.rows[0].cfa.expression().size() == 3);
  CHECK(function.rows[0].registers[6].kind == Kind::kAtExpression);
  CHECK(function.rows[0].registers[6].expression().size() == 2);
}

TEST_CASE("half a CFA needs the other half") {
  const CieFields without{.instructions = raw({0x90, 1})};
  CHECK(status_of(raw({0x0D, 6}), without) == kMalformed);
  CHECK(status_of(raw({0x0E, 8}), without) == kMalformed);
  CHECK(status_of(raw({0x13, 1}), without) == kMalformed);
  CHECK(status_of(raw({0x0F, 1, 0x30, 0x0E, 8})) == kMalformed);
  CHECK(status_of(raw({0x0F, 1, 0x30, 0x0C, 7, 8})) == kFound);
}

TEST_CASE("registers that are not kept are passed over, but not as the CFA's or the return's") {
  Function vectors(raw({0x05, 17, 4, 0x07, 100, 0x06, 40, 0xFF}));
  CHECK(vectors.run() == kFound);
  CHECK(vectors.rows[0].registers[6].kind == Kind::kUnspecified);
  CHECK(vectors.rows[0].has_other_rules);
  CHECK(status_of(raw({0x0C, 33, 8})) == kTooComplex);
  CHECK(status_of(raw({0x0D, 33})) == kTooComplex);
  CHECK(status_of({}, {.return_address_register = 40}) == kTooComplex);
}

TEST_CASE("a CIE that moves, or is wrong, spoils its functions") {
  CHECK(status_of({}, {.instructions = raw({0x41})}) == kMalformed);
  CHECK(status_of({}, {.instructions = raw({0x0C, 7})}) == kMalformed);
  CHECK(status_of({}, {.instructions = raw({0x3F})}) == kTooComplex);
}

TEST_CASE("instructions that break off are malformed, unknown ones too complex") {
  CHECK(status_of(raw({0x0E})) == kMalformed);
  CHECK(status_of(raw({0x10, 6, 100, 1})) == kMalformed);
  CHECK(status_of(raw({0x17})) == kTooComplex);
}

TEST_CASE("there is an end to the instructions of one function") {
  std::vector<std::byte> nops(CallFrameInterpreter::kMaxInstructions - 10);
  CHECK(status_of(nops) == kFound);
  nops.resize(CallFrameInterpreter::kMaxInstructions + 10);
  CHECK(status_of(nops) == kTooComplex);
}

TEST_CASE("a signal's frame is marked") {
  Function function({}, {.augmentation = "zRS"});
  CHECK(function.run() == kFound);
  CHECK(function.rows[0].signal_frame);
}

TEST_CASE("what is found at an address is what the rows one after another say of it") {
  // Often the instructions of one or two bytes, sometimes any byte; numbers near their limits.
  constexpr unsigned kOften[] = {0x41, 0x42, 0x45, 0x86, 0x83, 0xC6, 0xC3, 0x0E, 0x02, 0x0A, 0x0B};
  std::mt19937 random(11);
  int found_rows = 0;
  int failures = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<std::byte> instructions;
    const std::size_t length = random() % 24;
    while (instructions.size() < length) {
      const unsigned any = random() % 256;
      const bool often = random() % 16 != 0;
      instructions.push_back(
          static_cast<std::byte>(often ? kOften[random() % std::size(kOften)] : any));
      if (random() % 2 == 0) instructions.push_back(static_cast<std::byte>(random() % 136));
    }
    Function function(instructions, {.code_alignment = random() % 3});
    const UnwindStatus status = function.run();
    for (std::size_t offset = 0; offset < Function::kBytes; ++offset) {
      const std::uintptr_t pc = function.code() + offset;
      const auto expected =
          std::find_if(function.rows.begin(), function.rows.end(),
                       [&](const CallFrameRow& row) { return pc >= row.begin && pc < row.end; });
      CallFrameRow row;
      const UnwindStatus found = function.find(offset, row);
      if (expected == function.rows.end()) {
        REQUIRE(found == status);
        ++failures;
        continue;
      }
      REQUIRE(found == UnwindStatus::kFound);
      REQUIRE(row.begin == expected->begin);
      REQUIRE(row.end == expected->end);
      REQUIRE(row.cfa == expected->cfa);
      REQUIRE(row.registers == expected->registers);
      ++found_rows;
    }
  }
  CHECK(found_rows > 10'000);
  CHECK(failures > 10'000);
}
