// Stacks where a process begins and ends: constructors, handlers of exit, destructors of threads,
// children.
#include <doctest/doctest.h>

#include "tests/integration/unwind/compared_program.hpp"

using namespace alloctap::testing;

TEST_CASE("stacks of constructors, destructors, handlers of exit and children") {
  ComparedProgram program({ALLOCTAP_PROCESS_ENDS});
  const std::vector<Json> lines = program.run();
  check_equal(lines, 40);
  // Of four children of fork, and of the process. A child of vfork leaves its parent's counts.
  CHECK(lines.size() == 5);
  for (const Json& line : lines) CHECK(line.at("trusted_failed") == 0);
}

TEST_CASE("the same with no more frames than fit a small buffer") {
  ComparedProgram program({ALLOCTAP_PROCESS_ENDS});
  program.set("ALLOCTAP_COMPARE_FRAMES", "4");
  const std::vector<Json> lines = program.run();
  check_equal(lines, 40);
  CHECK(lines.back().at("truncated") > 20);
}
