// The tracker holds no descriptor that the program sees, or that delays the end of file of a pipe.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <alloctap/os/file.hpp>
#include <chrono>
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

/// A pipe at which one process waits.
class Gate {
 public:
  explicit Gate(const std::string& path) {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    // Opening it blocks no process then.
    reader_ = File(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    writer_ = File(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  }

  /// Lets the process pass; returns when it has ended.
  void open() {
    CHECK(alloctap::os::write_all(writer_.descriptor(), "!") == 0);
    reader_.close();
    pollfd process{writer_.descriptor(), 0, 0};
    CHECK(::poll(&process, 1, 20'000) == 1);
  }

 private:
  using File = alloctap::os::File;
  File reader_;
  File writer_;
};

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
    TrackedProgram program({ALLOCTAP_PROGRAMS "forks", "daemon"});
    program.command().patience = std::chrono::seconds(15);
    Gate gate(program.file("gate"));
    const Outcome outcome = run(program.tracked_to("json=" + program.file("%p.json"), {option}));
    CHECK_FALSE(outcome.timed_out);
    CHECK(outcome.exit_code() == 0);
    CHECK(outcome.err == "");
    gate.open();
    CHECK(program.files().size() == (option == "--follow-children" ? 3 : 2));
  }
}

TEST_CASE("tools that close standard error when they exit leave their report there") {
  const TrackedProgram program({"/bin/sh", "-c", "/bin/ls /dev/null; exit 0"});
  const Outcome outcome = run(reporting_to_error(program, "--follow-children"));
  CHECK(outcome.out == "/dev/null\n");
  CHECK(outcome.err.find("who holds the memory of /usr/bin/ls") != std::string::npos);
}
