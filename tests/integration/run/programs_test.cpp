#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/integration/run/launcher_fixture.hpp"

namespace {

using namespace launcher_test;

fs::path write_script(const fs::path& path, const std::string& text) {
  return write_file(path, text, 0755);
}

TEST_CASE("missing programs lead to 127") {
  const Launcher launcher;
  write_file(launcher.work() / "file", "", 0755);
  check_refused(launcher.run({"no-such-program"}), 127, {"'no-such-program'", "PATH"});
  check_refused(launcher.run({"./no-such-program"}), 127, {"'./no-such-program'", "check"});
  check_refused(launcher.run({"/no/such/program"}), 127, {"'/no/such/program'", "check"});
  check_refused(launcher.run({"./file/x"}), 127, {"'./file/x'", "check"});
  check_refused(launcher.run({""}), 127, {"''", "check"});
  check_refused(launcher.run({"--", "--help"}), 127, {"'--help'", "PATH"});
  check_refused(launcher.run({"a\nb"}), 127, {"'a\\nb'"});
}

TEST_CASE("what cannot be executed leads to 126") {
  const Launcher launcher;
  write_file(launcher.work() / "plain", "echo started\n");
  check_refused(launcher.run({"./plain"}), 126, {"'./plain'", "chmod +x"});
  check_refused(launcher.run({"."}), 126, {"'.'", "directory"});
  check_refused(launcher.run({"/tmp"}), 126, {"'/tmp'", "directory"});
  check_refused(launcher.run({"./" + std::string(300, 'n')}), 126, {"name too long", "check"});
  check_refused(launcher.run({"/dev/null"}), 126, {"'/dev/null'", "Permission denied"});
}

TEST_CASE("PATH is searched like execvp does") {
  Launcher launcher;
  const fs::path one = launcher.work() / "one", two = launcher.work() / "two";
  fs::create_directories(one / "directory");
  fs::create_directories(two);
  write_file(one / "tool", "#!/bin/sh\necho one\n", 0644);
  write_script(two / "tool", "#!/bin/sh\necho two $0\n");
  write_file(one / "locked", "");
  write_script(launcher.work() / "here", "#!/bin/sh\necho here\n");
  launcher.environment = {"PATH=/nowhere:" + one.native() + ":two"};
  CHECK(launcher.run({"tool"}).out == "two two/tool\n");
  check_refused(launcher.run({"locked"}), 126, {"/one/locked'", "chmod +x"});
  check_refused(launcher.run({"directory"}), 126, {"/one/directory'", "directory"});
  check_refused(launcher.run({"here"}), 127, {"'here'"});
  check_refused(launcher.run({"sh"}), 127, {"'sh'"});
  for (const char* path : {"PATH=", "PATH=/nowhere:", "PATH=:/nowhere"}) {
    launcher.environment = {path};
    CHECK(launcher.run({"here"}).out == "here\n");
  }
  launcher.environment = {};
  CHECK(launcher.run({"sh", "-c", "echo found"}).out == "found\n");
}

TEST_CASE("the program sees the name that the user wrote") {
  const Launcher launcher;
  CHECK(launcher.run({"sh", "-c", "tr '\\0' ' ' < /proc/$$/cmdline"}).out.starts_with("sh -c "));
}

TEST_CASE("scripts run, with and without a #! line") {
  const Launcher launcher;
  write_script(launcher.work() / "hashed", "#!  /bin/sh -e\necho \"$@\"; false; echo never\n");
  write_script(launcher.work() / "env", "#!/usr/bin/env sh\necho \"$@\"\n");
  write_script(launcher.work() / "plain", "echo \"$0\" \"$@\"\n");
  write_script(launcher.work() / "blank", "#! \necho \"$@\"\n");
  write_script(launcher.work() / "empty", "");
  write_script(launcher.work() / "nested", "#!" + (launcher.work() / "env").native());
  const Result hashed = launcher.run({"./hashed", "a b", "--dump"});
  CHECK(hashed.code == 1);
  CHECK(hashed.out == "a b --dump\n");
  CHECK(launcher.run({"./env", "a"}).out == "a\n");
  CHECK(launcher.run({"./plain", "a", "b"}).out == "./plain a b\n");
  CHECK(launcher.run({"./blank", "a"}).out == "a\n");
  CHECK(launcher.run({"./empty"}).code == 0);
  CHECK(launcher.run({"./nested", "a"}).out == "./nested a\n");
}

TEST_CASE("an interpreter that is missing or cannot be executed is named") {
  const Launcher launcher;
  write_script(launcher.work() / "missing", "#!/no/such/shell -x\n");
  write_script(launcher.work() / "windows", "#!/bin/sh\r\necho started\n");
  write_file(launcher.work() / "shell", "");
  write_script(launcher.work() / "locked", "#!./shell\n");
  check_refused(launcher.run({"./missing"}), 127, {"'/no/such/shell'", "'./missing'"});
  check_refused(launcher.run({"./windows"}), 127, {"'/bin/sh\\r'", "'./windows'"});
  check_refused(launcher.run({"./locked"}), 126, {"'./shell'", "'./locked'", "chmod +x"});
}

TEST_CASE("interpreters nest as deeply as the system allows") {
  const Launcher launcher;
  const fs::path work = launcher.work();
  write_script(work / "s1", "#!/bin/echo\n");
  for (int i = 2; i <= 6; ++i) {
    const std::string below = work / ("s" + std::to_string(i - 1));
    write_script(work / ("s" + std::to_string(i)), "#!" + below + "\n");
  }
  write_script(work / "loop", "#!" + (work / "loop").native() + "\n");
  const Result deepest = launcher.run({"./s5"});
  CHECK(deepest.code == 0);
  CHECK(deepest.out.ends_with("./s5\n"));
  check_refused(launcher.run({"./s6"}), 126, {"'./s6'", "too many"});
  check_refused(launcher.run({"./loop"}), 126, {"'./loop'", "too many"});
}

TEST_CASE("an interpreter name of up to the length that the system reads is followed") {
  const Launcher launcher;
  const std::string dots = "/bin" + std::string(241, '/') + "sh";
  write_script(launcher.work() / "longest", "#!" + dots + "\necho started\n");
  CHECK(launcher.run({"./longest"}).out == "started\n");
  // The system takes what it cannot read whole for no program, so the shell runs it.
  write_script(launcher.work() / "longer", "#!" + std::string(20, '/') + dots + "\necho shell\n");
  CHECK(launcher.run({"./longer"}).out == "shell\n");
}

TEST_CASE("an unreadable program is refused" * doctest::skip(::geteuid() != 0)) {
  const Launcher launcher;
  const fs::path program = launcher.work() / "program";
  fs::copy_file("/bin/echo", program);
  fs::permissions(program, fs::perms(0711));
  check_refused(launcher.run_as_nobody({"./program", "started"}), 2,
                {"'./program'", "cannot be read", "chmod +r"});
  CHECK(launcher.run({"./program", "started"}).out == "started\n");
}

}  // namespace
