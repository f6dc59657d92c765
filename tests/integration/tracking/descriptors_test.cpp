// The tracker has no descriptor that the program sees, or that keeps a pipe of its open.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <alloctap/os/file.hpp>
#include <string>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;

/// With reports on standard error.
Command reporting_to_error(const TrackedProgram& program, const std::string& option) {
  Command command = program.untracked();
  command.arguments.insert(command.arguments.begin(), {ALLOCTAP_RUN_BINARY, option, "--"});
  return command;
}

/// Returns when the process that has the pipe at `path` open has ended; it waits for this to open
/// it.
void let_end(const std::string& path) {
  const alloctap::os::File gate(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  pollfd reader{gate.descriptor(), 0, 0};
  CHECK(::poll(&reader, 1, 20'000) == 1);
}

}  // namespace

TEST_CASE("a program sees the descriptors that it would see alone, and its children theirs") {
  const TrackedProgram program({"/bin/sh", "-c", "ls /proc/$$/fd; ls /proc/self/fd; exit 0"});
  const std::string alone = run(program.untracked()).out;
  for (const std::string option : {"--follow-children", "--leaks=live"}) {
    CAPTURE(option);
    CHECK(run(reporting_to_error(program, option)).out == alone);
    CHECK(run(program.tracked_to("json=" + program.file("%p.json"), {option})).out == alone);
  }
}

TEST_CASE("the end of standard error does not wait for a daemon") {
  for (const std::string option : {"--follow-children", "--leaks=live"}) {
    CAPTURE(option);
    const TrackedProgram program({ALLOCTAP_PROGRAMS "forks", "daemon"});
    const std::string gate = program.file("gate");
    REQUIRE(::mkfifo(gate.c_str(), 0600) == 0);
    const Outcome outcome = run(program.tracked_to("json=" + program.file("%p.json"), {option}));
    CHECK_FALSE(outcome.timed_out);
    CHECK(outcome.exit_code() == 0);
    CHECK(outcome.err == "");
    let_end(gate);
    CHECK(program.files().size() == (option == "--follow-children" ? 3 : 2));
  }
}

TEST_CASE("tools that close standard error when they exit leave their report there") {
  const TrackedProgram program({"/bin/sh", "-c", "/bin/ls /dev/null; exit 0"});
  const Outcome outcome = run(reporting_to_error(program, "--follow-children"));
  CHECK(outcome.out == "/dev/null\n");
  CHECK(outcome.err.find("who holds the memory of /usr/bin/ls") != std::string::npos);
}
