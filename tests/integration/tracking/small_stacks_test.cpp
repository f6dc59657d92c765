// What tracking a call takes of the program's stack (docs/small_stacks.md).
#include <doctest/doctest.h>

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;

struct StackUse {
  std::string call;
  std::string when;
  std::size_t bytes = 0;
};

std::vector<StackUse> stack_uses(const Command& command) {
  const Outcome outcome = run(command);
  CHECK(outcome.exit_code() == 0);
  std::vector<StackUse> uses;
  std::istringstream lines(outcome.out);
  for (StackUse use; lines >> use.call >> use.when >> use.bytes;) uses.push_back(use);
  return uses;
}

constexpr std::size_t kMaxOfKnownStack = 2048;
constexpr std::size_t kMaxOfAny = 4096;

/// `max_again` is for what a thread calls from a known stack.
void check_stack_use(const std::string& option, std::size_t max_again = kMaxOfKnownStack) {
  CAPTURE(option);
  const TrackedProgram program({ALLOCTAP_PROGRAMS "painted_stacks"});
  const std::vector<StackUse> alone = stack_uses(program.untracked());
  const std::vector<StackUse> tracked = stack_uses(program.tracked({option}));
  REQUIRE(alone.size() == tracked.size());
  REQUIRE(alone.size() >= 60);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    CAPTURE(tracked[i].call);
    CAPTURE(tracked[i].when);
    const std::size_t most = tracked[i].when == "again" ? max_again : kMaxOfAny;
    CHECK(tracked[i].bytes <= alone[i].bytes + most);
  }
}

}  // namespace

TEST_CASE("a tracked call takes a bounded part of the stack by each hook") {
  check_stack_use("--hook=interpose");
  check_stack_use("--hook=plt");
  check_stack_use("--hook=inline");
  // Each call asks for unwind rules, and reads a table where two have one place in the cache.
  check_stack_use("--hook=malloc-hooks", kMaxOfAny);
}

TEST_CASE("a tracked call takes a bounded part of the stack with each option") {
  for (const char* option :
       {"--checks=level10", "--guard-pages=all", "--string-checks", "--sample=1", "--events=10M",
        "--leaks=unreachable", "--stack=frame-pointer"}) {
    check_stack_use(option);
  }
}
