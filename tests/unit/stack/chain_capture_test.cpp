#include "alloctap/stack/chain_capture.hpp"

#include <doctest/doctest.h>

#include <array>
#include <thread>

#include "alloctap/stack/unwind_table_stack.hpp"
#include "tests/support/call_chain.hpp"

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

}  // namespace

TEST_CASE("a stack that comes again is not walked over, whatever thread begins there") {
  const auto check = [] { testing::CallChain<>::call(12, check_captures_at_one_place); };
  check();
  for (int i = 0; i < 3; ++i) std::thread(check).join();
}

TEST_CASE("a stack that was kept as a whole has room for what its user notes") {
  testing::CallChain<>::call(9, check_room_for_notes);
}
