#include "alloctap/stack/unwind_table_stack.hpp"

#include <doctest/doctest.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "alloctap/arch/frame_record.hpp"
#include "alloctap/pe/native_row.hpp"
#include "tests/support/address_of.hpp"
#include "tests/support/call_chain.hpp"

// Code whose callers only a walk that knows all registers can find.
extern "C" void code_with_odd_cfa();
__asm__(R"(
.text
.globl code_with_odd_cfa
code_with_odd_cfa:
  .cfi_startproc
)"
#if defined(__x86_64__)
        "  .cfi_def_cfa rbx, 16\n"
#else
        "  .cfi_def_cfa x19, 16\n"
#endif
        R"(
  nop
  nop
  ret
  .cfi_endproc
)");

namespace {

using namespace alloctap;
using namespace alloctap::testing;

constexpr std::size_t kTableRoom = 200;
constexpr std::size_t kDepth = 12;
/// How much of the stack is overwritten: the frames of the chain, and no more.
constexpr std::size_t kWords = 150;

/// All that the overwriting code needs, because what it overwrites may be anyone's.
struct Smashed {
  std::array<std::uintptr_t, kWords> words;
  std::array<std::uintptr_t, kTableRoom> frames;
  CapturedStack result;
};
thread_local Smashed smashed;

/// Captures while the words beside `origin.frame` are those of `smashed.words`, which then hold
/// what was there.
ALLOCTAP_NOINLINE ALLOCTAP_NO_SANITIZE void capture_smashed(const CallOrigin& given) {
  const CallOrigin origin = given;
  auto* const stack = static_cast<volatile std::uintptr_t*>(const_cast<void*>(origin.frame));
  const auto exchange = [stack]() ALLOCTAP_NO_SANITIZE {
    for (std::size_t i = 0; i < kWords; ++i) {
      const std::uintptr_t word = stack[i];
      stack[i] = smashed.words[i];
      smashed.words[i] = word;
    }
  };
  ThreadState& thread = *ThreadStates::mine();
  exchange();
  // What comes again is remembered in other ways.
  for (int i = 0; i < 2; ++i) UnwindTableStack::capture(thread, origin, smashed.frames);
  smashed.result = UnwindTableStack::capture(thread, origin, smashed.frames);
  exchange();
}

ALLOCTAP_NO_SANITIZE void read_words(const CallOrigin& origin) {
  const auto* stack = static_cast<const std::uintptr_t*>(origin.frame);
  for (std::size_t i = 0; i < kWords; ++i) smashed.words[i] = stack[i];
}

/// What attackers, stray writes and freed memory leave on a stack. Nothing of it is code, but
/// constants may lie in one segment with code.
std::vector<std::uintptr_t> bad_values(const CallOrigin& origin) {
  static const int data = 0;
  const std::uintptr_t frame = address_of(origin.frame);
  std::vector<std::uintptr_t> values{0,
                                     1,
                                     0x10000,
                                     0x4141414141414141,
                                     0xDEADBEEFDEADBEEF,
                                     UINTPTR_MAX,
                                     UINTPTR_MAX - 7,
                                     UINTPTR_MAX - 15,
                                     frame,
                                     frame + 7,
                                     frame + 8,
                                     frame + 16,
                                     frame - 64,
                                     address_of(&data),
                                     address_of(&smashed)};
  // Where another stack would be, unless the code of a library happens to lie there.
  for (const std::uintptr_t distance : {std::uintptr_t{1} << 20U, std::uintptr_t{1} << 30U}) {
    if (!native::is_module_code(frame + distance - 1)) values.push_back(frame + distance);
  }
  return values;
}

/// Return addresses into code that has unwind tables, and never called anyone here.
std::vector<std::uintptr_t> wrong_code() {
  return {reinterpret_cast<std::uintptr_t>(&bad_values) + 1,
          reinterpret_cast<std::uintptr_t>(&bad_values) + 40,
          reinterpret_cast<std::uintptr_t>(&std::abort) + 3,
          reinterpret_cast<std::uintptr_t>(&code_with_odd_cfa) + 1};
}

/// What there is to see of the chain as it is.
std::vector<std::uintptr_t> frames_now(const CallOrigin& origin) {
  std::vector<std::uintptr_t> frames(kTableRoom);
  const auto stack = UnwindTableStack::capture(*ThreadStates::mine(), origin, frames);
  CHECK_FALSE(stack.failed);
  frames.resize(stack.depth);
  return frames;
}

_Unwind_Reason_Code add_place(_Unwind_Context* context, void* places) {
  const auto place = _Unwind_GetCFA(context) - sizeof(arch::FrameRecord::return_address);
  static_cast<std::vector<std::uintptr_t>*>(places)->push_back(place);
  return _URC_NO_REASON;
}

/// Where a record may be anywhere in its frame, the compiler's unwinder does not tell. The chain of
/// records does, as long as all have one.
std::vector<std::uintptr_t> places_by_records(const CallOrigin& origin) {
  std::vector<std::uintptr_t> places;
  const auto* record = static_cast<const arch::FrameRecord*>(origin.frame);
  while (record != nullptr) {
    places.push_back(address_of(&record->return_address));
    record = reinterpret_cast<const arch::FrameRecord*>(record->caller_frame);
  }
  return places;
}

std::vector<std::uintptr_t> places_by_unwinder() {
  std::vector<std::uintptr_t> places;
  _Unwind_Backtrace(&add_place, &places);
  return places;
}

/// The place of each return address of the chain among the words beside `origin.frame`.
std::vector<std::size_t> find_return_addresses(const CallOrigin& origin) {
  const auto all = arch::kRecordEndsFrame ? places_by_unwinder() : places_by_records(origin);
  std::vector<std::size_t> places;
  for (const std::uintptr_t place : all) {
    const std::uintptr_t number = (place - address_of(origin.frame)) / sizeof(std::uintptr_t);
    if (place > address_of(origin.frame) && number < kWords) places.push_back(number);
  }
  return places;
}

void check_smashed_return_address(const CallOrigin& origin, std::size_t number, std::size_t place,
                                  std::uintptr_t value) {
  const auto before = frames_now(origin);
  read_words(origin);
  smashed.words[place] = value;
  capture_smashed(origin);
  CAPTURE(number);
  CAPTURE(value);
  REQUIRE(smashed.result.depth >= number);
  REQUIRE(smashed.result.depth <= kTableRoom);
  CHECK(std::equal(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(number),
                   smashed.frames.begin()));
  // What looks like the signature of a return address is taken off.
  const std::uintptr_t unsigned_value = arch::DwarfRegisters::strip_signature(value);
  if (value != 0 && smashed.result.depth > number) {
    const std::uintptr_t shown = smashed.frames[number];
    CAPTURE(shown);
    CHECK((shown == value || shown == unsigned_value));
  }
  if (value != 0 && !native::is_module_code(unsigned_value - 1)) CHECK(smashed.result.failed);
  for (int i = 0; i < 3; ++i) CHECK(frames_now(origin) == before);
}

}  // namespace

TEST_CASE("an overwritten return address ends the stack behind it, as failed") {
  std::size_t checked = 0;
  static_cast<void>(CallChain<>::call(kDepth, [&](const CallOrigin& origin) {
    const auto places = find_return_addresses(origin);
    for (std::size_t number = 0; number < places.size(); ++number) {
      for (const std::uintptr_t value : bad_values(origin)) {
        check_smashed_return_address(origin, number, places[number], value);
        ++checked;
      }
    }
  }));
  // The frames of a sanitizer's build are larger, so fewer are within reach.
  CHECK(checked > 50);
}

TEST_CASE("whatever is overwritten, the capture ends, and the next one sees what is there") {
  for (const bool in_thread : {false, true}) {
    const auto smash = [] {
      static_cast<void>(CallChain<>::call(kDepth, [](const CallOrigin& origin) {
        auto values = bad_values(origin);
        const auto code = wrong_code();
        values.insert(values.end(), code.begin(), code.end());
        const auto before = frames_now(origin);
        std::mt19937 numbers(1);
        for (int round = 0; round < 3000; ++round) {
          read_words(origin);
          const std::size_t count = 1 + numbers() % (round % 10 == 0 ? kWords : 3);
          for (std::size_t i = 0; i < count; ++i) {
            smashed.words[numbers() % kWords] = values[numbers() % values.size()];
          }
          capture_smashed(origin);
          REQUIRE(smashed.result.depth >= 1);
          REQUIRE(smashed.result.depth <= kTableRoom);
          if (round % 7 == 0) CHECK(frames_now(origin) == before);
        }
      }));
    };
    in_thread ? std::thread(smash).join() : smash();
  }
}

TEST_CASE("words of the stack that changed places make frames that nobody wrote") {
  static_cast<void>(CallChain<>::call(kDepth, [](const CallOrigin& origin) {
    const auto before = frames_now(origin);
    std::mt19937 numbers(2);
    for (int round = 0; round < 2000; ++round) {
      read_words(origin);
      for (int i = 0; i < 1 + round % 5; ++i) {
        std::swap(smashed.words[numbers() % kWords], smashed.words[numbers() % kWords]);
      }
      capture_smashed(origin);
      REQUIRE(smashed.result.depth >= 1);
    }
    CHECK(frames_now(origin) == before);
  }));
}
