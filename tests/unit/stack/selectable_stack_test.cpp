#include "alloctap/stack/selectable_stack.hpp"

#include <doctest/doctest.h>

#include <array>

#include "alloctap/stack/no_stack.hpp"
#include "alloctap/testing/scripted_stack.hpp"
#include "tests/support/call_chain.hpp"

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

TEST_CASE("a name that no choice has selects nothing") {
  CHECK_FALSE(Choice::select("backtrace"));
  CHECK_FALSE(Choice::select(""));
  CHECK_FALSE(Choice::select("non"));
  CHECK(Choice::selected() == "none");
}
