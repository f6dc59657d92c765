#include "alloctap/stack/selectable_stack.hpp"

#include <doctest/doctest.h>

#include <array>

#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/stack/unwind_table_stack.hpp"
#include "tests/support/call_chain.hpp"
#include "tests/support/fakes.hpp"

namespace {

using alloctap::NoStack;
using alloctap::testing::capture_known_stack;
using alloctap::testing::ScriptedStack;
using alloctap::testing::SeenStack;

using Choice = alloctap::SelectableStack<NoStack, ScriptedStack>;

}  // namespace

TEST_CASE("the first of the choices is in force until another is selected") {
  CHECK(Choice::selected() == "none");
  CHECK(capture_known_stack<Choice>(1, 8).result.depth == 1);

  const std::array<std::uintptr_t, 3> script{11, 12, 13};
  ScriptedStack::play(script);
  REQUIRE(Choice::select("scripted"));
  CHECK(Choice::selected() == "scripted");
  const SeenStack seen = capture_known_stack<Choice>(1, 8);
  CHECK(seen.result.depth == 3);
  CHECK(seen.frames[2] == 13);

  REQUIRE(Choice::select("none"));
  CHECK(Choice::selected() == "none");
  ScriptedStack::play({});
}

TEST_CASE("stacks are recalled while the first of the choices is in force") {
  using Recalls = alloctap::SelectableStack<alloctap::UnwindTableStack, NoStack>;
  alloctap::testing::CallChain<>::call(3, [](const alloctap::CallOrigin& origin) {
    const alloctap::CallOrigin same = origin;
    alloctap::ThreadState& thread = *alloctap::ThreadStates::mine();
    for (int i = 0; i < 3; ++i) static_cast<void>(Recalls::identify(thread, same, 100));
    CHECK(Recalls::recall(thread, same, 100) != nullptr);
    REQUIRE(Recalls::select("none"));
    CHECK(Recalls::recall(thread, same, 100) == nullptr);
    CHECK(Recalls::identify_uncached(thread, same, 100, nullptr).stack.depth == 1);
    REQUIRE(Recalls::select("unwind-table"));
    CHECK(Recalls::recall(thread, same, 100) != nullptr);
  });
}

TEST_CASE("a name that no choice has selects nothing") {
  CHECK_FALSE(Choice::select("backtrace"));
  CHECK_FALSE(Choice::select(""));
  CHECK_FALSE(Choice::select("non"));
  CHECK(Choice::selected() == "none");
}
