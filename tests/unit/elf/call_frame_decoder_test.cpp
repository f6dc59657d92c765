#include <doctest/doctest.h>

#include "alloctap/elf/call_frame_interpreter.hpp"
#include "tests/unit/elf/unwind_bytes.hpp"

namespace {

using namespace alloctap::testing;
using namespace alloctap::elf;
using Action = CallFrameOperation::Action;
using Rule = RegisterRule::Kind;

const CommonInformation kCommon = [] {
  CommonInformation common;
  common.code_alignment = 4;
  common.data_alignment = -8;
  common.pointer_encoding = 0x1B;
  return common;
}();

/// Decodes one instruction; kUnknown where it fails or bytes are left.
CallFrameOperation decode(const ByteWriter& instruction) {
  const GuardedBytes bytes(instruction.bytes());
  CallFrameDecoder decoder(ByteReader(bytes.span()), kCommon);
  const CallFrameOperation operation = decoder.next();
  return decoder.ok() && decoder.at_end() ? operation : CallFrameOperation{};
}

void check_rule(const ByteWriter& instruction, unsigned number, Rule kind, std::int64_t value) {
  const CallFrameOperation operation = decode(instruction);
  CHECK(operation.action == Action::kSetRule);
  CHECK(operation.register_number == number);
  CHECK(operation.rule_kind == kind);
  CHECK(operation.value == value);
}

void check_value(const ByteWriter& instruction, Action action, std::int64_t value) {
  const CallFrameOperation operation = decode(instruction);
  CHECK(operation.action == action);
  CHECK(operation.value == value);
}

}  // namespace

TEST_CASE("locations advance in units of code") {
  check_value(ByteWriter().u8(0x40), Action::kAdvance, 0);
  check_value(ByteWriter().u8(0x7F), Action::kAdvance, 0x3F * 4);
  check_value(ByteWriter().u8(2).u8(0xFF), Action::kAdvance, 0xFF * 4);
  check_value(ByteWriter().u8(3).u16(0xFFFF), Action::kAdvance, 0xFFFF * 4);
  check_value(ByteWriter().u8(4).u32(0xFFFFFFFF), Action::kAdvance, 0xFFFFFFFFLL * 4);
}

TEST_CASE("a location may be an address, encoded as the CIE says") {
  const GuardedBytes bytes(ByteWriter().u8(1).u32(0x100).bytes());
  CallFrameDecoder decoder(ByteReader(bytes.span()), kCommon);
  const CallFrameOperation operation = decoder.next();
  CHECK(operation.action == Action::kSetLocation);
  CHECK(static_cast<std::uintptr_t>(operation.value) == bytes.address() + 1 + 0x100);
}

TEST_CASE("the CFA is a register and an offset in bytes, or an expression") {
  const CallFrameOperation cfa = decode(ByteWriter().u8(0x0C).uleb(7).uleb(200));
  CHECK(cfa.action == Action::kSetCfa);
  CHECK(cfa.register_number == 7);
  CHECK(cfa.value == 200);
  check_value(ByteWriter().u8(0x12).uleb(7).sleb(-3), Action::kSetCfa, 24);
  check_value(ByteWriter().u8(0x0E).uleb(16), Action::kSetCfaOffset, 16);
  check_value(ByteWriter().u8(0x13).sleb(-2), Action::kSetCfaOffset, 16);
  CHECK(decode(ByteWriter().u8(0x0D).uleb(6)).action == Action::kSetCfaRegister);
  CHECK(decode(ByteWriter().u8(0x0D).uleb(6)).register_number == 6);
  const CallFrameOperation expression = decode(ByteWriter().u8(0x0F).block(raw({0x77, 8})));
  CHECK(expression.action == Action::kSetCfaExpression);
  CHECK(expression.expression_bytes == 2);
}

TEST_CASE("offsets of saved registers are in units of data") {
  check_rule(ByteWriter().u8(0x86).uleb(2), 6, Rule::kAtCfaPlus, -16);
  check_rule(ByteWriter().u8(0x05).uleb(130).uleb(2), 130, Rule::kAtCfaPlus, -16);
  check_rule(ByteWriter().u8(0x11).uleb(3).sleb(-2), 3, Rule::kAtCfaPlus, 16);
  check_rule(ByteWriter().u8(0x2F).uleb(3).uleb(2), 3, Rule::kAtCfaPlus, 16);
  check_rule(ByteWriter().u8(0x14).uleb(3).uleb(2), 3, Rule::kCfaPlus, -16);
  check_rule(ByteWriter().u8(0x15).uleb(3).sleb(-2), 3, Rule::kCfaPlus, 16);
}

TEST_CASE("other rules of registers") {
  check_rule(ByteWriter().u8(0x07).uleb(16), 16, Rule::kUndefined, 0);
  check_rule(ByteWriter().u8(0x08).uleb(3), 3, Rule::kSameValue, 0);
  check_rule(ByteWriter().u8(0x09).uleb(3).uleb(12), 3, Rule::kInRegister, 12);
  CHECK(decode(ByteWriter().u8(0xC6)).action == Action::kRestoreRule);
  CHECK(decode(ByteWriter().u8(0xC6)).register_number == 6);
  CHECK(decode(ByteWriter().u8(0x06).uleb(200)).register_number == 200);
}

TEST_CASE("an expression is kept where it stands") {
  const GuardedBytes bytes(ByteWriter().u8(0x10).uleb(6).block(raw({0x77, 8, 6})).bytes());
  CallFrameDecoder decoder(ByteReader(bytes.span()), kCommon);
  const CallFrameOperation operation = decoder.next();
  CHECK(operation.rule_kind == Rule::kAtExpression);
  const RegisterRule rule{operation.rule_kind, operation.expression_bytes, operation.value};
  CHECK(rule.expression().data() == bytes.data() + 3);
  CHECK(rule.expression().size() == 3);
  CHECK(decode(ByteWriter().u8(0x16).uleb(6).block({})).rule_kind == Rule::kExpressionValue);
}

TEST_CASE("states are remembered, and what only exceptions need is passed over") {
  CHECK(decode(ByteWriter().u8(0x00)).action == Action::kNothing);
  CHECK(decode(ByteWriter().u8(0x2E).uleb(1000)).action == Action::kNothing);
  CHECK(decode(ByteWriter().u8(0x0A)).action == Action::kRememberRow);
  CHECK(decode(ByteWriter().u8(0x0B)).action == Action::kRestoreRow);
}

TEST_CASE("other opcodes are unknown") {
  for (unsigned opcode = 0x17; opcode < 0x40; ++opcode) {
    if (opcode == 0x2E || opcode == 0x2F) continue;
    const bool is_known = opcode == 0x2D && alloctap::arch::DwarfRegisters::kMaySignReturnAddress;
    CAPTURE(opcode);
    CHECK((decode(ByteWriter().u8(opcode)).action != Action::kUnknown) == is_known);
  }
}

TEST_CASE("an instruction that breaks off fails") {
  const std::vector<ByteWriter> instructions = {ByteWriter().u8(0x01).u32(1),
                                                ByteWriter().u8(0x02).u8(1),
                                                ByteWriter().u8(0x03).u16(1),
                                                ByteWriter().u8(0x04).u32(1),
                                                ByteWriter().u8(0x05).uleb(1).uleb(1),
                                                ByteWriter().u8(0x0F).block(raw({1, 2, 3})),
                                                ByteWriter().u8(0x10).uleb(1).block(raw({1})),
                                                ByteWriter().u8(0x2F).uleb(1).uleb(1),
                                                ByteWriter().u8(0x83).uleb(1000)};
  for (const ByteWriter& whole : instructions) {
    for (std::size_t kept = 0; kept < whole.size(); ++kept) {
      const auto& bytes = whole.bytes();
      const GuardedBytes cut({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(kept)});
      CallFrameDecoder decoder(ByteReader(cut.span()), kCommon);
      static_cast<void>(decoder.next());
      CHECK_FALSE(decoder.ok());
    }
  }
}
