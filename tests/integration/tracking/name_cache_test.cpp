// Forked children share the names of functions that one of them has looked up.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/integration/support/file_text.hpp"
#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

namespace fs = std::filesystem;
using namespace alloctap::testing;

/// A copy of alloctap-run in `root` whose helper adds a line to `starts` and then does its work.
std::string copy_with_counted_helper(const fs::path& root, const std::string& starts) {
  const fs::path object = ALLOCTAP_PRELOAD_OBJECT;
  const fs::path helper = root / "lib/alloctap/alloctap-symbolize";
  fs::create_directories(root / "bin");
  fs::create_directories(root / "lib/alloctap");
  fs::copy_file(ALLOCTAP_RUN_BINARY, root / "bin/alloctap-run");
  fs::copy_file(object, root / "lib/alloctap" / object.filename());
  std::ofstream(helper) << "#!/bin/sh\necho started >>" << starts << "\nexec "
                        << (object.parent_path() / helper.filename()).native() << "\n";
  fs::permissions(helper, fs::perms::owner_all);
  return root / "bin/alloctap-run";
}

}  // namespace

TEST_CASE("the names of ten children are looked up once, and the parent's") {
  const TrackedProgram program({ALLOCTAP_PROGRAMS "forks", "one-by-one", "10"});
  const std::string starts = program.file("starts");
  Command command = program.tracked_to("json=" + program.file("%p.json"), {"--follow-children"});
  command.arguments.front() = copy_with_counted_helper(program.file("copy"), starts);
  const Outcome outcome = run(command);
  CHECK(outcome.err == "");
  CHECK(outcome.exit_code() == 0);
  const std::string lines = file_text(starts);
  CHECK(std::count(lines.begin(), lines.end(), '\n') <= 2);
  int children = 0;
  for (const std::string& file : program.files()) {
    if (!file.ends_with(".json")) continue;
    const Dump dump(program.file(file));
    check_report(dump);
    if (!dump.stacks_through("(anonymous namespace)::allocate_in_child").empty()) ++children;
  }
  CHECK(children == 10);
}
