#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include "alloctap/stack/stack_memory.hpp"
#include "alloctap/stack/unwind_step.hpp"
#include "tests/support/address_of.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::address_of;

constexpr std::uintptr_t kWithTable = 0x1000;
constexpr std::uintptr_t kWithoutTable = 0x2000;
constexpr std::uintptr_t kNoCode = 0x3000;

/// A frame of 8 words, of which the outermost two are the frame record: on AArch64, the innermost.
struct Rules {
  static UnwindRule find(const UnwindFrame& frame) noexcept {
    if (frame.call_address() != kWithTable) return {};
    return {.cfa_offset = 64,
            .fp_slot = arch::kRecordEndsFrame ? -2 : -8,
            .return_slot = arch::kRecordEndsFrame ? -1 : -7,
            .kind = UnwindRule::Kind::kFromStackPointer};
  }
  static bool is_code(std::uintptr_t address) noexcept { return address == kWithoutTable; }
};

struct Stack {
  [[nodiscard]] std::uintptr_t at(std::size_t word) const { return address_of(&words[word]); }
  [[nodiscard]] std::uintptr_t high() const { return at(0) + sizeof words; }

  UnwindOutcome step(const UnwindFrame& frame) {
    LiveStack memory(frame.sp, high());
    return step_by_record(frame, caller, high(), Rules{}, memory);
  }

  std::array<std::uintptr_t, 32> words{};
  NotedFrame caller;
};

}  // namespace

TEST_CASE("a frame record leads to code with and without a table") {
  if (!arch::kHasFrameRecords) return;
  for (const std::uintptr_t call : {kWithTable, kWithoutTable}) {
    Stack stack;
    stack.words[6] = stack.at(8);
    stack.words[7] = call + 1;
    REQUIRE(stack.step({.pc = kWithoutTable + 1, .sp = stack.at(4), .fp = stack.at(6)}) ==
            UnwindOutcome::kCaller);
    CHECK(stack.caller.frame == UnwindFrame{.pc = call + 1, .sp = stack.at(8), .fp = stack.at(8)});
    CHECK(stack.caller.step.by_record);
    CHECK(stack.caller.step.word_count == 2);
    CHECK(stack.caller.step.last_word_is_frame_pointer);
    CHECK(stack.caller.step.use == FramePointerUse::kUsed);
  }
}

TEST_CASE("what is no plausible frame record leads nowhere") {
  Stack stack;
  for (std::size_t word = 0; word < stack.words.size(); word += 2) {
    stack.words[word] = stack.at(word) + 16;
    stack.words[word + 1] = kWithoutTable + 1;
  }
  const UnwindFrame good{.pc = kWithoutTable + 1, .sp = stack.at(4), .fp = stack.at(6)};
  CHECK((stack.step(good) == UnwindOutcome::kCaller) == arch::kHasFrameRecords);
  for (const std::uintptr_t fp :
       {std::uintptr_t{0}, std::uintptr_t{42}, UINTPTR_MAX - 7, stack.at(2), stack.at(6) + 1,
        stack.at(6) + 4, stack.at(31), stack.high(), stack.high() + 16}) {
    CAPTURE(fp);
    UnwindFrame bad = good;
    bad.fp = fp;
    CHECK(stack.step(bad) == UnwindOutcome::kNoTable);
    CHECK_FALSE(stack.caller.step.by_record);
    CHECK(stack.caller.step.word_count == 0);
  }
  UnwindFrame elsewhere = good;
  elsewhere.pc = kNoCode + 1;
  CHECK(stack.step(elsewhere) == UnwindOutcome::kNoTable);
  for (const std::uintptr_t address : {std::uintptr_t{0}, std::uintptr_t{1}, kNoCode + 1}) {
    stack.words[7] = address;
    CHECK(stack.step(good) == UnwindOutcome::kNoTable);
    // That word decided: another one may lead on.
    CHECK(stack.caller.step.word_count == (arch::kHasFrameRecords ? 1 : 0));
  }
}
