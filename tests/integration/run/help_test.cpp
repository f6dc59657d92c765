#include <doctest/doctest.h>

#include <string>

#include "alloctap/version.hpp"
#include "tests/integration/run/launcher_fixture.hpp"

namespace {

using launcher_test::check_refused;
using launcher_test::Launcher;
using launcher_test::Result;

TEST_CASE("help describes every option, version tells the library's") {
  const Launcher launcher;
  for (const char* option : {"--help", "-h"}) {
    const Result help = launcher.run({option});
    CHECK(help.code == 0);
    CHECK(help.err.empty());
    CHECK(help.out.starts_with("Examples:\n  alloctap-run ./program  "));
    CHECK(launcher_test::lines(help.out)[2].starts_with("  alloctap-run -o heap.html ./program "));
    for (const char* text : {"Usage: alloctap-run",
                             "-o,--output PATH",
                             "--dump FORMAT=PATH",
                             "FORMAT is one of text, json, ",
                             "%p",
                             "--stack CHOICE",
                             "Default: unwind-table",
                             "--max-frames N",
                             "--sample BYTES",
                             "512K",
                             "--min-size BYTES",
                             "--max-size BYTES",
                             "--events BYTES",
                             "--interval SECONDS",
                             "--threshold BYTES",
                             "--signal NAME",
                             "%n",
                             "4000",
                             "Default: 256",
                             "--leaks live|unreachable",
                             "--suppressions FILE",
                             "--checks LIST",
                             "--guard-pages all|1/N[,EDGE]",
                             "--string-checks",
                             "--error-exitcode N",
                             "--follow-children",
                             "--version",
                             "--help"}) {
      CHECK(help.out.find(text) != std::string::npos);
    }
  }
  const Result version = launcher.run({"--version"});
  CHECK(version.code == 0);
  CHECK(version.out == std::string("alloctap-run ") + alloctap::kVersionString + "\n");
}

TEST_CASE("help that cannot be printed is a failure") {
  const Launcher launcher;
  const std::string command = launcher.binary().native() + " --help > /dev/full";
  check_refused(launcher.execute({"/bin/sh", "-c", command}), 2, {"No space left"});
}

}  // namespace
