#include "alloctap/stack/chain_capture.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "alloctap/stack/unwind_table_stack.hpp"
#include "tests/support/call_chain.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using namespace alloctap;

/// Those of `UnwindTableStack`; says how many frames were walked over.
class CountedRules : public TableRules {
 public:
  using TableRules::TableRules;
  [[nodiscard]] UnwindRule find(const UnwindFrame& frame) const noexcept {
    ++asked;
    return TableRules::find(frame);
  }

  static inline thread_local std::size_t asked = 0;
};

using CountedCapture = ChainCapture<CountedRules>;

/// With a memory of its own, which no test before has made larger.
template <int kTest>
class RulesOfTest : public CountedRules {
 public:
  using CountedRules::CountedRules;
};

void check_room_for_notes(const CallOrigin& origin) {
  ThreadState& thread = *ThreadStates::mine();
  const CallOrigin same = origin;
  for (int i = 0; i < 2; ++i) {
    CHECK(CountedCapture::identify(thread, same, 200).place == nullptr);
  }
  const IdentifiedStack known = CountedCapture::identify(thread, same, 200);
  REQUIRE(known.place != nullptr);
  *known.place = 4711;
  CHECK(*CountedCapture::identify(thread, same, 200).place == 4711);
}

void check_captures_at_one_place(const CallOrigin& origin) {
  ThreadState& thread = *ThreadStates::mine();
  const CallOrigin same = origin;
  CountedRules::asked = 0;
  const IdentifiedStack first = CountedCapture::identify(thread, same, 200);
  CHECK_FALSE(first.stack.failed);
  CHECK(CountedRules::asked > 12);
  CountedRules::asked = 0;
  for (int i = 0; i < 4; ++i) {
    const IdentifiedStack again = CountedCapture::identify(thread, same, 200);
    CHECK(again.hash == first.hash);
    CHECK(again.stack.depth == first.stack.depth);
  }
  CHECK(CountedCapture::identified_frames(thread, first).size() == first.stack.depth);
  CHECK(CountedRules::asked == 0);
}

void check_epochs(const CallOrigin& origin) {
  ThreadState& thread = *ThreadStates::mine();
  const CallOrigin same = origin;
  const IdentifiedStack first = CountedCapture::identify(thread, same, 200);
  for (int i = 0; i < 3; ++i) static_cast<void>(CountedCapture::identify(thread, same, 200));
  UnwindRules::forget_all();
  CountedRules::asked = 0;
  CHECK(CountedCapture::identify(thread, same, 200).hash == first.hash);
  CHECK(CountedRules::asked > 12);
}

void check_larger_limit(const CallOrigin& origin) {
  using Capture = ChainCapture<RulesOfTest<1>>;
  ThreadState& thread = *ThreadStates::mine();
  const CallOrigin same = origin;
  CHECK(Capture::identify(thread, same, 4).stack.depth == 4);
  const IdentifiedStack whole = Capture::identify(thread, same, 200);
  CHECK(whole.stack.depth > 12);
  CHECK_FALSE(whole.stack.truncated);
  CHECK(whole.hash == CountedCapture::identify(thread, same, 200).hash);
}

void check_lack_of_memory(const CallOrigin& origin) {
  using Capture = ChainCapture<RulesOfTest<2>>;
  ThreadState& thread = *ThreadStates::mine();
  const CallOrigin same = origin;
  CHECK(Capture::identify(thread, same, 4).stack.depth == 4);
  IdentifiedStack without;
  {
    const testing::StarvedArena starved;
    without = Capture::identify(thread, same, 200);
  }
  CHECK(without.stack.depth == 1);
  // What stands in for the walk may know that there is more, or that it cannot tell.
  CHECK((without.stack.failed || without.stack.truncated));
  CHECK(Capture::identify(thread, same, 200).stack.depth > 12);
}

/// The last capture of `capture_from`.
CapturedStack captured;

/// From one of two places in the same function: so both chains of calls lie at the same place.
ALLOCTAP_NOINLINE void capture_from(bool other, std::uint32_t max_frames) {
  const auto capture = [=](const CallOrigin& origin) {
    captured = CountedCapture::identify(*ThreadStates::mine(), origin, max_frames).stack;
  };
  if (other) {
    testing::CallChain<>::call(12, capture);
    asm volatile("" : : : "memory");
  } else {
    testing::CallChain<>::call(12, capture);
    asm volatile("");
  }
}

}  // namespace

TEST_CASE("two stacks that come from one frame by turns are not walked over") {
  // In one loop, so that all calls return to one place.
  std::size_t calls = 0;
  for (const bool other : {false, false, true, true, false, true, false, true}) {
    CountedRules::asked = 0;
    capture_from(other, 200);
    if (++calls > 4) CHECK(CountedRules::asked == 0);
  }
}

TEST_CASE("neither of two known stacks is captured further than the limit") {
  std::size_t calls = 0;
  for (const bool other : {false, false, true, true, false, true}) {
    const std::uint32_t limit = ++calls > 4 ? 4 : 200;
    capture_from(other, limit);
    CHECK((captured.depth == 4) == (limit == 4));
    CHECK(captured.truncated == (limit == 4));
  }
}

TEST_CASE("a stack that comes again is not walked over, whatever thread begins there") {
  const auto check = [] { testing::CallChain<>::call(12, check_captures_at_one_place); };
  check();
  for (int i = 0; i < 3; ++i) std::thread(check).join();
}

TEST_CASE("a stack that was kept as a whole has room for what its user notes") {
  testing::CallChain<>::call(9, check_room_for_notes);
}

TEST_CASE("of a stack that many calls have left, the new frames alone are walked over") {
  const auto identify = [](const CallOrigin& origin) {
    CountedRules::asked = 0;
    static_cast<void>(CountedCapture::identify(*ThreadStates::mine(), origin, 200));
  };
  for (const std::size_t depth : {20U, 2U, 20U, 3U}) {
    testing::CallChain<>::call(depth, identify);
    if (depth < 20) CHECK(CountedRules::asked <= 4);
  }
}

TEST_CASE("what was known of a stack is forgotten with the epoch of its rules") {
  testing::CallChain<>::call(12, check_epochs);
}

TEST_CASE("a stack is captured as far as the limit on frames, which may rise") {
  testing::CallChain<>::call(12, check_larger_limit);
}

TEST_CASE("without memory for a walk the caller alone is captured") {
  testing::CallChain<>::call(12, check_lack_of_memory);
}
