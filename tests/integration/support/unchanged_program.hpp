/// Runs a program twice and compares what it does.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace alloctap::testing {

/// Checks that the program behaves the same whether tracked or not, and returns its report.
/// `options` are alloctap-run's.
inline Dump report_of_unchanged(const TrackedProgram& program,
                                const std::vector<std::string>& options = {}) {
  const Outcome alone = run(program.untracked());
  const Outcome tracked = run(program.tracked(options));
  CHECK(tracked.status == alone.status);
  CHECK(tracked.out == alone.out);
  CHECK(tracked.err == alone.err);
  Dump dump = program.dump();
  check_report(dump);
  return dump;
}

}  // namespace alloctap::testing
