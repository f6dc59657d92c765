#include "alloctap/elf/call_frame_step.hpp"

#include <doctest/doctest.h>

#include <map>

#include "tests/unit/elf/unwind_bytes.hpp"

namespace {

using namespace alloctap::testing;
using namespace alloctap::elf;
using Kind = RegisterRule::Kind;
using Outcome = CallFrameStep::Outcome;
using Registers = alloctap::arch::DwarfRegisters;

/// rbx of x86-64, x19 of AArch64.
constexpr unsigned kPreserved = Registers::kReturnAddressIsProgramCounter ? 3 : 19;
constexpr unsigned kSpNumber = Registers::kStackPointer;
constexpr unsigned kReturnNumber = Registers::kReturnAddress;
constexpr std::uintptr_t kSp = 0x1000;
constexpr std::uintptr_t kPc = 0x401234;

/// A frame of one word, the return address at its end, and what lies around it.
struct Frame {
  Frame() {
    row.cfa = {CfaRule::Kind::kRegisterPlusOffset, kSpNumber, 0, 16};
    row.registers[kReturnNumber] = {Kind::kAtCfaPlus, 0, -8};
    row.return_address_register = kReturnNumber;
    registers.set(kSpNumber, kSp);
    registers.set(kPreserved, 0x33);
    registers.set(0, 0xAA);
  }

  CallFrameStep step() {
    auto read_word = [this](std::uintptr_t address, std::uintptr_t& word) noexcept {
      const auto place = stack.find(address);
      if (place != stack.end()) word = place->second;
      return place != stack.end();
    };
    return step_to_caller(row, registers, read_word);
  }

  CallFrameRow row;
  RegisterFile registers;
  std::map<std::uintptr_t, std::uintptr_t> stack{{kSp, 0x66}, {kSp + 8, kPc}};
};

RegisterRule expression_rule(Kind kind, const std::vector<std::byte>& bytes) {
  return {kind, static_cast<std::uint32_t>(bytes.size()),
          static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(bytes.data()))};
}

}  // namespace

TEST_CASE("a caller continues at the return address, with the CFA as its stack pointer") {
  Frame frame;
  const CallFrameStep step = frame.step();
  CHECK(step.outcome == Outcome::kCaller);
  CHECK(step.pc == kPc);
  CHECK(step.cfa == kSp + 16);
  CHECK(step.registers.get(kSpNumber) == kSp + 16);
  if (Registers::kReturnAddressIsProgramCounter) CHECK(step.registers.get(kReturnNumber) == kPc);
  CHECK_FALSE(step.pc_is_exact);
}

TEST_CASE("what functions preserve stays, what they may destroy is unknown") {
  Frame frame;
  const CallFrameStep step = frame.step();
  CHECK(step.registers.get(kPreserved) == 0x33);
  CHECK_FALSE(step.registers.get(0).has_value());
  CHECK_FALSE(step.registers.get(6).has_value());
}

TEST_CASE("every kind of rule has its value") {
  Frame frame;
  const auto at_sp = raw({0x70 + kSpNumber, 0});
  const auto cfa_minus_1 = raw({0x31, 0x1C});
  frame.row.registers[6] = {Kind::kAtCfaPlus, 0, -16};
  frame.row.registers[12] = {Kind::kCfaPlus, 0, -16};
  frame.row.registers[13] = {Kind::kInRegister, 0, kPreserved};
  frame.row.registers[14] = expression_rule(Kind::kAtExpression, at_sp);
  frame.row.registers[15] = expression_rule(Kind::kExpressionValue, cfa_minus_1);
  frame.row.registers[kPreserved] = {Kind::kUndefined, 0, 0};
  frame.row.registers[0] = {Kind::kSameValue, 0, 0};
  // An empty expression yields what lies on the stack at its start.
  frame.row.registers[1] = {Kind::kExpressionValue, 0, 0};
  const CallFrameStep step = frame.step();
  CHECK(step.outcome == Outcome::kCaller);
  CHECK(step.registers.get(6) == 0x66);
  CHECK(step.registers.get(12) == kSp);
  CHECK(step.registers.get(13) == 0x33);
  CHECK(step.registers.get(14) == 0x66);
  CHECK(step.registers.get(15) == kSp + 15);
  CHECK_FALSE(step.registers.get(kPreserved).has_value());
  CHECK(step.registers.get(0) == 0xAA);
  CHECK(step.registers.get(1) == kSp + 16);
}

TEST_CASE("a rule may give the stack pointer another value than the CFA") {
  Frame frame;
  frame.row.registers[kSpNumber] = {Kind::kAtCfaPlus, 0, -16};
  CHECK(frame.step().registers.get(kSpNumber) == 0x66);
}

TEST_CASE("the CFA may be an expression") {
  Frame frame;
  const auto expression = raw({0x70 + kSpNumber, 16});
  frame.row.cfa = {CfaRule::Kind::kExpression, 0, 2,
                   static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(expression.data()))};
  CHECK(frame.step().cfa == kSp + 16);
  frame.row.cfa.expression_bytes = 0;
  CHECK(frame.step().outcome == Outcome::kFailed);
}

TEST_CASE("a signal's frame leads to where its caller was interrupted") {
  Frame frame;
  frame.row.signal_frame = true;
  CHECK(frame.step().pc_is_exact);
}

TEST_CASE("a frame is the outermost where its return address is undefined or zero") {
  Frame zero;
  zero.stack[kSp + 8] = 0;
  CHECK(zero.step().outcome == Outcome::kOutermost);
  Frame undefined;
  undefined.row.registers[kReturnNumber] = {Kind::kUndefined, 0, 0};
  CHECK(undefined.step().outcome == Outcome::kOutermost);
  undefined.row.cfa.kind = CfaRule::Kind::kUnspecified;
  CHECK(undefined.step().outcome == Outcome::kOutermost);
}

TEST_CASE("without a CFA or a return address there is no caller") {
  Frame unspecified;
  unspecified.row.cfa.kind = CfaRule::Kind::kUnspecified;
  CHECK(unspecified.step().outcome == Outcome::kFailed);
  Frame unknown;
  unknown.registers.set(kSpNumber, std::nullopt);
  CHECK(unknown.step().outcome == Outcome::kFailed);
  Frame unreadable;
  unreadable.stack.erase(kSp + 8);
  CHECK(unreadable.step().outcome == Outcome::kFailed);
}

TEST_CASE("a return address that nobody saved leads nowhere, and to no endless loop") {
  for (const Kind kind : {Kind::kUnspecified, Kind::kSameValue}) {
    Frame frame;
    frame.registers.set(kReturnNumber, kPc);
    frame.row.registers[kReturnNumber] = {kind, 0, 0};
    CallFrameStep step = frame.step();
    // A link register holds it in a function that calls nobody, and in no other.
    if (!Registers::kReturnAddressIsProgramCounter) {
      CHECK(step.pc == kPc);
      frame.registers = step.registers;
      step = frame.step();
    }
    CHECK(step.outcome == Outcome::kFailed);
  }
}

TEST_CASE("a saved register that cannot be read is unknown, and no reason to stop") {
  Frame frame;
  frame.row.registers[kPreserved] = {Kind::kAtCfaPlus, 0, -800};
  frame.row.registers[6] = {Kind::kInRegister, 0, 99};
  const CallFrameStep step = frame.step();
  CHECK(step.outcome == Outcome::kCaller);
  CHECK_FALSE(step.registers.get(kPreserved).has_value());
  CHECK_FALSE(step.registers.get(6).has_value());
}
