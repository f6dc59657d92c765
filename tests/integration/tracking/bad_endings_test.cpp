// A report that cannot be written costs the program nothing, and is told in one line.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

namespace fs = std::filesystem;
using namespace alloctap::testing;

class Spoiled {
 public:
  explicit Spoiled(const std::string& way) : program_({ALLOCTAP_PROGRAMS "spoils_report", way}) {
    fs::create_directory(program_.file("reports"));
  }

  [[nodiscard]] std::string dump_path() const { return program_.file("reports/dump.json"); }
  [[nodiscard]] const TrackedProgram& program() const { return program_; }

  /// With a path that counts from the working directory.
  [[nodiscard]] Outcome run_tracked() const {
    const Outcome outcome = run(program_.tracked_to("json=reports/dump.json"));
    CHECK_FALSE(outcome.timed_out);
    CHECK(outcome.exit_code() == 42);
    return outcome;
  }

  /// Regular files below the working directory.
  [[nodiscard]] std::ptrdiff_t count_files() const {
    const fs::recursive_directory_iterator files(program_.file(""));
    return std::count_if(begin(files), end(files),
                         [](const fs::directory_entry& entry) { return entry.is_regular_file(); });
  }

 private:
  TrackedProgram program_;
};

Outcome run_without_dump(const Spoiled& spoiled) {
  Command command = spoiled.program().untracked();
  command.arguments.insert(command.arguments.begin(), {ALLOCTAP_RUN_BINARY, "--"});
  Outcome outcome = run(command);
  CHECK(outcome.exit_code() == 42);
  return outcome;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void check_one_line(const std::string& text, const std::string& path, const std::string& reason) {
  CAPTURE(text);
  CHECK(text.starts_with("alloctap-run: "));
  CHECK(text.find('\n') == text.size() - 1);
  CHECK(text.find(path) != std::string::npos);
  CHECK(text.find(reason) != std::string::npos);
}

void check_told(const std::string& way, const std::string& reason) {
  CAPTURE(way);
  const Spoiled spoiled(way);
  const Outcome outcome = spoiled.run_tracked();
  check_one_line(outcome.err, spoiled.dump_path(), reason);
  CHECK(spoiled.count_files() == 0);
}

void check_written(const std::string& way) {
  CAPTURE(way);
  const Spoiled spoiled(way);
  const Outcome outcome = spoiled.run_tracked();
  CHECK(outcome.err == "");
  const Dump dump(spoiled.dump_path());
  check_report(dump);
  CHECK(dump.total("allocations") >= 1000);
}

}  // namespace

TEST_CASE("a report that the disk has no room for is told and leaves no file") {
  check_told("limit-file-size", "File too large");
  check_told("limit-file-size-quietly", "File too large");
}

TEST_CASE("a report whose directory is gone is told") {
  check_told("remove-directory", "No such file or directory");
}

TEST_CASE("a report whose path was taken meanwhile is told and leaves no part") {
  check_told("occupy-path", "Is a directory");
}

TEST_CASE("a report for which no descriptor is left is told") {
  check_told("use-up-descriptors", "Too many open files");
}

TEST_CASE("a device that is full is told by its name") {
  const Spoiled spoiled("nothing");
  const Outcome outcome = run(spoiled.program().tracked_to("json=/dev/full"));
  CHECK(outcome.exit_code() == 42);
  check_one_line(outcome.err, "/dev/full", "No space left on device");
}

TEST_CASE("what stood at the report's path stays there whole where the new one cannot be written") {
  const Spoiled spoiled("limit-file-size");
  std::ofstream(spoiled.dump_path()) << "the last report";
  CHECK(spoiled.run_tracked().err != "");
  CHECK(text_of(spoiled.dump_path()) == "the last report");
  CHECK(spoiled.count_files() == 1);
}

TEST_CASE("a program may close what it likes and go where it likes") {
  check_written("close-stderr");
  check_written("close-everything");
  check_written("change-directory");
}

TEST_CASE("where standard error is gone the report is a file where the program was started") {
  for (const std::string way : {"close-stderr", "close-everything", "reuse-stderr"}) {
    CAPTURE(way);
    const Spoiled spoiled(way);
    const Outcome outcome = run_without_dump(spoiled);
    CHECK(outcome.err == "");
    const std::string name = "alloctap-run." + std::to_string(outcome.pid) + ".txt";
    const std::string report = text_of(spoiled.program().file(name));
    CHECK(report.starts_with("alloctap 0"));
    CHECK(spoiled.count_files() == (way == "reuse-stderr" ? 2 : 1));
  }
}

TEST_CASE("a file that the program opened in the place of standard error is its own") {
  const Spoiled spoiled("reuse-stderr");
  run_without_dump(spoiled);
  CHECK(text_of(spoiled.program().file("data")) == "data\n");
}

TEST_CASE("a program that becomes another one without an environment is tracked in it") {
  const Spoiled spoiled("exec-without-environment");
  CHECK(spoiled.run_tracked().err == "");
  CHECK(Dump(spoiled.dump_path()).json().at("program").at("arguments").at(0) == "/bin/sh");
}

TEST_CASE("a tracker that gets no memory counts what it lost and does the program no harm") {
  const Spoiled spoiled("run-out-of-memory");
  const Outcome alone = run(spoiled.program().untracked());
  const Outcome outcome = spoiled.run_tracked();
  CHECK(outcome.out == alone.out);
  CHECK(outcome.err == "");
  const Dump dump(spoiled.dump_path());
  CHECK(dump.account("dropped") > 0);
  CHECK(find_misshapen(dump.json(), report_shape(), "") == "");
  check_sums(dump.json());
  check_indices(dump.json());
}
