/// A displaced instruction that was written anew, followed by what Capstone tells of it and held
/// against what it tells of the original.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "alloctap/arch/aarch64/displaced_code.hpp"
#include "alloctap/arch/aarch64/relocated_code.hpp"
#include "alloctap/arch/patch_refusal.hpp"
#include "tests/contract/function_patch/aarch64/capstone_decoder.hpp"

namespace alloctap_test {

/// What running a trampoline does.
struct TrampolineWalk {
  bool understood = true;
  /// Where it leaves to; `leaves_through`: the register that tells, if it is not known.
  std::uintptr_t destination = 0;
  unsigned leaves_through = ARM64_REG_INVALID;
  /// Numbers that were loaded, by register.
  std::map<unsigned, std::uint64_t> numbers;
  /// Conditional branches, without targets.
  std::vector<std::string> conditions;
  /// All else, landing pads left out.
  std::vector<std::uint32_t> words;
};

/// A trampoline at `at`, and how it runs.
class Trampoline {
 public:
  Trampoline(CapstoneDecoder& decoder, std::span<const std::byte> room, std::size_t size,
             std::uintptr_t at)
      : decoder_(decoder), room_(room), size_(size), at_(at) {}

  /// `takes` says whether conditions hold.
  TrampolineWalk run(bool takes) {
    TrampolineWalk walk;
    walk.destination = at_;
    while (walk.destination >= at_ && walk.destination < at_ + size_) {
      if (!step(takes, walk)) break;
    }
    return walk;
  }

 private:
  template <class Number>
  [[nodiscard]] Number read(std::uintptr_t address) const {
    Number number = 0;
    std::memcpy(&number, room_.data() + (address - at_), sizeof number);
    return number;
  }

  bool step(bool takes, TrampolineWalk& walk) {
    constexpr std::uint32_t kLandingPad = 0xD503245F;
    const std::uintptr_t here = walk.destination;
    const auto word = read<std::uint32_t>(here);
    const auto now = decoder_.decode(room_.subspan(here - at_), here);
    walk.destination += sizeof word;
    if (word == kLandingPad) return true;
    if (!now) return walk.understood = false;
    if (now->is_literal_load()) {
      walk.numbers[now->reg(0)] = read<std::uint64_t>(*now->target());
    } else if (now->is_conditional()) {
      walk.conditions.push_back(now->condition());
      if (takes) walk.destination = *now->target();
    } else if (now->is_jump()) {
      walk.destination = *now->target();
    } else if (now->id() == ARM64_INS_BR) {
      walk.leaves_through = now->reg(0);
      return false;
    } else {
      walk.words.push_back(word);
      return now->id() != ARM64_INS_RET;
    }
    return true;
  }

  CapstoneDecoder& decoder_;
  std::span<const std::byte> room_;
  std::size_t size_;
  std::uintptr_t at_;
};

/// Whether a trampoline does what one instruction did.
class MoveCheck {
 public:
  MoveCheck(CapstoneDecoder& decoder, const alloctap::arch::aarch64::DisplacedCode& from,
            Trampoline trampoline)
      : decoder_(decoder), from_(from), trampoline_(trampoline) {}

  bool is_same() {
    const std::uint32_t word = from_.instruction.word;
    const auto old = decoder_.decode(std::as_bytes(std::span(&word, 1)), from_.start());
    if (!old) return moves_word(word, false);
    const auto target = old->target();
    if (old->is_conditional()) return branches(old->condition(), *target);
    if (old->is_jump()) return leaves_to(*target, {});
    if (old->id() == ARM64_INS_BL) return leaves_to(*target, {{ARM64_REG_LR, from_.end()}});
    if (old->id() == ARM64_INS_BLR) return calls_through(old->reg(0));
    if (old->is_address()) return leaves_to(from_.end(), {{old->reg(0), *target}});
    if (old->is_literal_load()) return loads(word, old->mnemonic(), *target);
    if (old->id() == ARM64_INS_BR) return jumps_through(old->reg(0));
    return moves_word(word, old->id() == ARM64_INS_RET);
  }

 private:
  using Numbers = std::map<unsigned, std::uint64_t>;

  /// Runs it, and takes off what it must begin with.
  TrampolineWalk run(bool takes = true) {
    TrampolineWalk walk = trampoline_.run(takes);
    if (from_.signing == 0) return walk;
    walk.understood &= !walk.words.empty() && walk.words.front() == from_.signing;
    if (!walk.words.empty()) walk.words.erase(walk.words.begin());
    return walk;
  }
  static bool is_plain(const TrampolineWalk& walk, const Numbers& numbers) {
    return walk.understood && walk.words.empty() && walk.numbers == numbers;
  }
  bool leaves_to(std::uintptr_t target, const Numbers& numbers) {
    const TrampolineWalk walk = run();
    return is_plain(walk, numbers) && walk.conditions.empty() && walk.destination == target &&
           walk.leaves_through == ARM64_REG_INVALID;
  }
  bool branches(const std::string& condition, std::uintptr_t target) {
    const TrampolineWalk taken = run(true);
    const TrampolineWalk passed = run(false);
    const std::vector<std::string> conditions{condition};
    return is_plain(taken, {}) && is_plain(passed, {}) && taken.conditions == conditions &&
           passed.conditions == conditions && taken.destination == target &&
           passed.destination == from_.end();
  }
  bool jumps_through(unsigned number) {
    const TrampolineWalk walk = run();
    return is_plain(walk, {}) && walk.leaves_through == number;
  }
  bool calls_through(unsigned number) {
    const TrampolineWalk walk = run();
    return is_plain(walk, {{ARM64_REG_LR, from_.end()}}) && walk.leaves_through == number;
  }
  bool moves_word(std::uint32_t word, bool ends) {
    const TrampolineWalk walk = run();
    const bool leaves = ends || walk.destination == from_.end();
    return walk.understood && walk.words == std::vector{word} && walk.numbers.empty() && leaves;
  }
  /// One load of the same kind into the same register, from a register with the target.
  bool loads(std::uint32_t word, const std::string& mnemonic, std::uintptr_t target) {
    const TrampolineWalk walk = run();
    if (!walk.understood || walk.words.size() != 1 || walk.numbers.size() != 1) return false;
    const auto bytes = std::as_bytes(std::span(walk.words));
    const auto now = decoder_.decode(bytes, 0);
    const auto& operands = now->detail().operands;
    const auto& [base, number] = *walk.numbers.begin();
    const bool is_from_target = operands[1].type == ARM64_OP_MEM && operands[1].mem.base == base &&
                                operands[1].mem.disp == 0 && number == target &&
                                operands[1].mem.index == ARM64_REG_INVALID;
    const unsigned into = now->reg(0);
    const bool has_same_name = now->mnemonic() == mnemonic;
    const auto old = decoder_.decode(std::as_bytes(std::span(&word, 1)), from_.start());
    return is_from_target && has_same_name && old->reg(0) == into &&
           walk.destination == from_.end();
  }

  CapstoneDecoder& decoder_;
  const alloctap::arch::aarch64::DisplacedCode& from_;
  Trampoline trampoline_;
};

/// What came of moving a function's entry to `at`: a refusal, or whether it does the same there.
struct CodeMove {
  alloctap::arch::PatchRefusal refusal = alloctap::arch::PatchRefusal::kNone;
  bool is_same = true;
};

inline CodeMove move_entry(const alloctap::arch::FunctionCode& function, std::uintptr_t at) {
  namespace aarch64 = alloctap::arch::aarch64;
  static CapstoneDecoder decoder;
  const auto from = aarch64::analyze_function(function);
  if (from.refusal != alloctap::arch::PatchRefusal::kNone) return {from.refusal};
  std::array<std::byte, aarch64::kTrampolineBytes> room{};
  const auto to = aarch64::relocate(from, room, at);
  if (to.refusal != alloctap::arch::PatchRefusal::kNone) return {to.refusal};
  return {.is_same = MoveCheck(decoder, from, Trampoline(decoder, room, to.size, at)).is_same()};
}

}  // namespace alloctap_test
