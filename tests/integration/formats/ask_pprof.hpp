/// Questions to go tool pprof.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/integration/support/process.hpp"

namespace alloctap::testing {

/// Its answer; it needs no network and leaves nothing outside of `home`, an existing directory.
[[nodiscard]] inline std::string ask_pprof(const std::string& home,
                                           std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"/usr/bin/go", "tool", "pprof"});
  const Outcome outcome = run({.arguments = arguments,
                               .environment = {"PATH=/usr/bin:/bin", "HOME=" + home,
                                               "GOCACHE=" + home, "PPROF_TMPDIR=" + home},
                               .directory = home});
  CAPTURE(outcome.err);
  CHECK(outcome.exit_code() == 0);
  return outcome.out;
}

}  // namespace alloctap::testing
