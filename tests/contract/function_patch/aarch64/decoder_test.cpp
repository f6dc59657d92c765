// The table against Capstone: every word of the code of three libraries.
#include <doctest/doctest.h>
#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "alloctap/arch/aarch64/instruction.hpp"
#include "tests/contract/function_patch/aarch64/capstone_decoder.hpp"
#include "tests/contract/function_patch/library_functions.hpp"

namespace {

using namespace alloctap::arch::aarch64;
using alloctap_test::CapstoneInstruction;

/// What Capstone's instruction is in the table; kMovable for all that is not relative and does not
/// branch.
Form form_of(const CapstoneInstruction& instruction) {
  if (instruction.is_conditional()) return Form::kConditionalJump;
  if (instruction.is_literal_load()) return Form::kLoad;
  switch (instruction.id()) {
    case ARM64_INS_B:
      return Form::kJump;
    case ARM64_INS_BL:
      return Form::kCall;
    case ARM64_INS_BLR:
      return Form::kIndirectCall;
    case ARM64_INS_BR:
    case ARM64_INS_RET:
      return Form::kIndirectJump;
    case ARM64_INS_ADR:
      return Form::kAddress;
    case ARM64_INS_ADRP:
      return Form::kPageAddress;
    case ARM64_INS_BRK:
      return Form::kBreakpoint;
    default:
      return Form::kMovable;
  }
}

/// What Capstone 4 takes for a hint or a system instruction, or does not look at more closely.
bool is_told_apart(Form form) {
  return form == Form::kLandingPad || form == Form::kSigningPad || form == Form::kBoundToPlace;
}

struct Comparison {
  std::size_t words = 0;
  std::size_t relative = 0;
  std::size_t unknown_to_capstone = 0;
  std::size_t different = 0;
  std::string first_difference;
};

void compare_word(alloctap_test::CapstoneDecoder& decoder, std::span<const std::byte> code,
                  std::uintptr_t address, Comparison& comparison) {
  const Instruction mine = decode_instruction(code, address);
  const auto theirs = decoder.decode(code, address);
  ++comparison.words;
  if (!theirs) {
    ++comparison.unknown_to_capstone;
    // Data, or newer than Capstone 4, as bc.cond is.
    const bool is_newer = (mine.word & 0xFF000010) == 0x54000010;
    if (mine.target == 0 || is_newer) return;
  } else {
    const auto target = theirs->target();
    if (target) ++comparison.relative;
    const Form form = form_of(*theirs);
    const bool same_form =
        mine.form == form || (form == Form::kMovable && is_told_apart(mine.form));
    if (same_form && mine.target == target.value_or(0)) return;
  }
  if (++comparison.different > 1) return;
  comparison.first_difference = std::to_string(address) + ": " + std::to_string(mine.word) +
                                " is form " + std::to_string(static_cast<int>(mine.form)) +
                                ", and " + (theirs ? theirs->text() : "nothing");
}

Comparison compare_library(std::span<const std::byte> file) {
  constexpr std::uintptr_t kBias = 0x7F3210000000;
  alloctap_test::CapstoneDecoder decoder;
  Comparison comparison;
  const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(file.data());
  const std::span sections(reinterpret_cast<const Elf64_Shdr*>(file.data() + header.e_shoff),
                           header.e_shnum);
  for (const Elf64_Shdr& section : sections) {
    if ((section.sh_flags & SHF_EXECINSTR) == 0) continue;
    const auto code = file.subspan(section.sh_offset, section.sh_size);
    for (std::size_t at = 0; at + kInstructionBytes <= code.size(); at += kInstructionBytes) {
      compare_word(decoder, code.subspan(at), kBias + section.sh_addr + at, comparison);
    }
  }
  return comparison;
}

}  // namespace

TEST_CASE("the table and Capstone agree on every word of real libraries") {
  for (const std::string name : {"libc.so.6", "libstdc++.so.6", "libcrypto.so.3"}) {
    const auto file = alloctap_test::read_library(name.c_str());
    if (file.empty()) continue;
    const Comparison comparison = compare_library(file);
    MESSAGE(name << ": " << comparison.words << " words, " << comparison.relative << " relative, "
                 << comparison.unknown_to_capstone << " unknown to Capstone");
    INFO(comparison.first_difference);
    CHECK(comparison.different == 0);
    CHECK(comparison.relative > 10'000);
  }
}
