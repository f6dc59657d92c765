#include <doctest/doctest.h>

#include <csignal>
#include <cstdio>

#include "alloctap/game/budget_table.hpp"
#include "tests/support/child_process.hpp"

TEST_CASE("the hard action says what was exceeded, and ends the program") {
  using namespace alloctap;
  const BudgetOffence offence{.kind = BudgetKind::kHeldBytes,
                              .limit = 100,
                              .value = 120,
                              .frame = 7,
                              .tag_name = "Physics"};
  OffenceLine line;
  CHECK(describe_offence(offence, line) ==
        "alloctap: tag \"Physics\" is over its budget of held_bytes: 120 of 100, in frame 7\n");
  CHECK(testing::holds_in_child([&]() -> bool {
    std::signal(SIGABRT, [](int) { testing::end_as_held(); });
    std::fclose(stderr);
    abort_on_offence(offence);
  }));
}
