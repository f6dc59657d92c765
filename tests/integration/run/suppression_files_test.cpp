#include <doctest/doctest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "tests/integration/run/launcher_fixture.hpp"

namespace {

using launcher_test::check_refused;
using launcher_test::Launcher;
using launcher_test::Result;
using launcher_test::write_file;

}  // namespace

TEST_CASE("files of suppressions reach the preloaded object by their absolute paths") {
  const Launcher launcher;
  write_file(launcher.work() / "rules", "leak:a\n");
  write_file(launcher.root() / "more", "# nothing\n");
  const std::string more = launcher.root() / "more";
  const Result result = launcher.run(
      {"--suppressions=rules", "--suppressions", more, "/usr/bin/printenv", "ALLOCTAP_RUN"});
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  const std::string rules = launcher.work() / "rules";
  CHECK(result.out.ends_with(";0;live;2;" + std::to_string(rules.size()) + ";" + rules + ";" +
                             std::to_string(more.size()) + ";" + more + ";interpose;1;0;\n"));
}

TEST_CASE("files whose rules are all about misuse ask for no report of leaks") {
  const Launcher launcher;
  write_file(launcher.work() / "rules", "double_free:a\n");
  write_file(launcher.work() / "more", "leak:a\n");
  const Result faults = launcher.run({"--suppressions=rules", "/usr/bin/printenv", "ALLOCTAP_RUN"});
  CHECK(faults.err.empty());
  CHECK(faults.out.find(";0;none;1;") != std::string::npos);
  const Result both = launcher.run(
      {"--suppressions=rules", "--suppressions=more", "/usr/bin/printenv", "ALLOCTAP_RUN"});
  CHECK(both.out.find(";0;live;2;") != std::string::npos);
}

TEST_CASE("suppressions that are wrong or not to be read are refused before the program starts") {
  const Launcher launcher;
  const std::string bad = write_file(launcher.work() / "bad", "# x\nleak:a\nrace:b\n");
  const std::string pipe = launcher.work() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string long_file =
      write_file(launcher.work() / "long", "leak:a\n#" + std::string(2 << 20, 'x'));
  const struct {
    std::string file;
    std::vector<std::string> texts;
  } cases[] = {
      {"bad", {"--suppressions 'bad': ", "bad:3: ", "race:b", "write leak:PATTERN"}},
      {"absent", {"--suppressions 'absent': ", "No such file or directory"}},
      {".", {"--suppressions '.': ", "Is a directory"}},
      {"pipe", {"--suppressions 'pipe': ", "is a pipe", "write its text to a file"}},
      {"long", {"--suppressions 'long': ", "File too large"}},
      {"/dev/zero", {"--suppressions '/dev/zero': ", "File too large"}},
  };
  for (const auto& [file, texts] : cases) {
    CAPTURE(file);
    check_refused(launcher.run({"--suppressions", file, "/bin/echo", "ran"}), 2, texts);
  }
  check_refused(launcher.run({"--suppressions=", "/bin/echo"}), 2, {"'--suppressions='", "write"});
  const std::vector<std::string> many(17, "--suppressions=/dev/null");
  std::vector<std::string> arguments = many;
  arguments.push_back("/bin/echo");
  check_refused(launcher.run(arguments), 2, {"--suppressions", "17 times", "at most 16"});
}
