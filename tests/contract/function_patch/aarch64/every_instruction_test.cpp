// 11: not only entries: each instruction of the C library that depends on its place, or calls, is
// moved as if it were one. Nothing of it runs.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "alloctap/arch/aarch64/instruction.hpp"
#include "alloctap/message_text.hpp"
#include "moved_code.hpp"
#include "tests/contract/function_patch/library_functions.hpp"

namespace {

using alloctap::arch::FunctionCode;
using alloctap::arch::PatchRefusal;
using alloctap::arch::aarch64::Form;
using alloctap::arch::aarch64::kInstructionBytes;

/// Whether moving it takes more than copying it.
bool is_rewritten(Form form) {
  switch (form) {
    case Form::kJump:
    case Form::kConditionalJump:
    case Form::kCall:
    case Form::kIndirectCall:
    case Form::kAddress:
    case Form::kPageAddress:
    case Form::kLoad:
      return true;
    default:
      return false;
  }
}

struct Moves {
  std::map<Form, std::size_t> same;
  std::map<Form, std::size_t> wrong;
};

void move_instructions(const FunctionCode& function, std::uintptr_t at, Moves& moves) {
  for (std::size_t i = 0; i + kInstructionBytes <= function.bytes.size(); i += kInstructionBytes) {
    const std::uintptr_t address = function.address + i;
    const auto code = function.bytes.subspan(i, kInstructionBytes);
    const Form form = alloctap::arch::aarch64::decode_instruction(code, address).form;
    if (!is_rewritten(form)) continue;
    const auto move = alloctap_test::move_entry({address, code, {}}, at);
    const bool is_same = move.refusal == PatchRefusal::kNone && move.is_same;
    ++(is_same ? moves.same : moves.wrong)[form];
  }
}

}  // namespace

TEST_CASE("every instruction of the C library that depends on its place does the same elsewhere") {
  constexpr std::uintptr_t kBias = 0x7F3210000000;
  const auto file = alloctap_test::read_library("libc.so.6");
  Moves moves;
  for (const auto& function : alloctap_test::functions_of(file, kBias)) {
    move_instructions(function.code, kBias - 0x4000000, moves);
  }
  std::string text;
  for (const auto& [form, count] : moves.same) {
    alloctap::append_text(text, " ", count, " of form ", static_cast<int>(form));
  }
  MESSAGE("moved:" << text);
  CHECK(moves.wrong.empty());
  CHECK(moves.same[Form::kConditionalJump] > 1000);
  CHECK(moves.same[Form::kCall] > 1000);
  CHECK(moves.same[Form::kPageAddress] > 1000);
  CHECK(moves.same[Form::kIndirectCall] > 100);
}
