// alloctap-convert makes of a record the reports that the program would have written, and of what
// is left of one what it can.
#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/integration/formats/format_run.hpp"

namespace {

using namespace alloctap::testing;
using Texts = std::vector<std::string>;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Outcome convert(const Texts& arguments) {
  Command command{.arguments = {ALLOCTAP_CONVERT_BINARY}};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return run(command);
}

/// A run that leaves a record and every other report.
struct RecordedRun {
  explicit RecordedRun(const Texts& command, const Texts& more = {}) : program(command) {
    Texts options{"--dump=record=" + record()};
    options.insert(options.end(), more.begin(), more.end());
    for (const char* format : kFormats) {
      options.push_back(std::string("--dump=") + format + "=" + program.file(format));
    }
    const Outcome outcome = run(program.tracked(options));
    CHECK(outcome.status == 0);
    CHECK(outcome.err == "");
  }

  [[nodiscard]] std::string record() const { return program.file("heap.record"); }
  [[nodiscard]] std::string made() const { return program.file("made"); }

  static constexpr const char* kFormats[] = {"text",   "folded",       "heaptrack",  "dhat",
                                             "massif", "chrome-trace", "speedscope", "android",
                                             "matrix", "matrix-log"};

  TrackedProgram program;
};

void check_all_formats(const Texts& command, const Texts& more = {}) {
  const RecordedRun recorded(command, more);
  Texts arguments{recorded.record(), "json=" + recorded.made(), "html=" + recorded.made() + ".html",
                  "pprof=" + recorded.made() + ".pb.gz", "record=" + recorded.made() + ".record"};
  for (const char* format : RecordedRun::kFormats) {
    arguments.push_back(std::string(format) + "=" + recorded.made() + "." + format);
  }
  const Outcome outcome = convert(arguments);
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  CHECK(Dump(recorded.made()).json() == recorded.program.dump().json());
  CHECK(text_of(recorded.made() + ".record") == text_of(recorded.record()));
  CHECK(text_of(recorded.made() + ".html").size() > 100'000);
  CHECK(text_of(recorded.made() + ".pb.gz").starts_with("\x1F\x8B"));
  for (const char* format : RecordedRun::kFormats) {
    CAPTURE(format);
    const bool same =
        text_of(recorded.made() + "." + format) == text_of(recorded.program.file(format));
    CHECK(same);
  }
}

}  // namespace

TEST_CASE("every report made of a record is the one that the program wrote") {
  check_all_formats({ALLOCTAP_PROGRAMS "known_mix"});
}

TEST_CASE("every report made of a record of a program that nobody wrote for it, too") {
  check_all_formats({"/usr/bin/python3", "-c",
                     "import json, decimal; x = [str(i) for i in range(20000)]; "
                     "import os; os._exit(0)"});
}

TEST_CASE("plug-ins that were closed keep their names in a record") {
  check_all_formats({ALLOCTAP_PROGRAMS "reloads", ALLOCTAP_PLUGIN_FIRST, ALLOCTAP_PLUGIN_SECOND});
}

namespace {

/// A run that leaves a record and the JSON report, for its events.
struct LoggedRun {
  explicit LoggedRun(const Texts& command, const Texts& options = {"--events=256M"})
      : program(command) {
    Texts all{"--dump=record=" + record()};
    all.insert(all.end(), options.begin(), options.end());
    const Outcome outcome = run(program.tracked(all));
    CHECK(outcome.status == 0);
    CHECK(outcome.err == "");
  }

  [[nodiscard]] std::string record() const { return program.file("heap.record"); }
  [[nodiscard]] std::string made() const { return program.file("made"); }

  TrackedProgram program;
};

/// What --replay says of a run's record.
Outcome replay(const Texts& command, const Texts& options = {"--events=256M"}) {
  const LoggedRun logged(command, options);
  return convert({"--replay", logged.record()});
}

void check_events_add_up(const std::vector<Texts>& commands) {
  for (const Texts& command : commands) {
    CAPTURE(command.front());
    const Outcome outcome = replay(command);
    CAPTURE(outcome.out);
    CHECK(outcome.err == "");
    CHECK(outcome.exit_code() == 0);
    CHECK(outcome.out.find(" are equal: ") != std::string::npos);
  }
}

}  // namespace

TEST_CASE("every report made of a record with events is the one that the program wrote") {
  check_all_formats({ALLOCTAP_PROGRAMS "known_mix"}, {"--events=64M"});
}

TEST_CASE("the events of a program add up to its report") {
  check_events_add_up({{ALLOCTAP_PROGRAMS "known_mix"},
                       {ALLOCTAP_PROGRAMS "threads", "two"},
                       {ALLOCTAP_PROGRAMS "threads", "come-and-go"}});
}

TEST_CASE("the events of a program that nobody wrote for it add up to its report") {
  check_events_add_up(
      {{"/usr/bin/sqlite3", ":memory:",
        "with recursive n(i) as (select 1 union all select i + 1 from n limit 5000) "
        "select count(distinct hex(i)) from n;"},
       {"/usr/bin/env", "PYTHONMALLOC=malloc", "/usr/bin/python3", "-c",
        "x = [str(i) for i in range(20000)]"}});
}

TEST_CASE("the events of children, which begin with their parent's, add up to their reports") {
  const TrackedProgram program({ALLOCTAP_PROGRAMS "forks", "from-threads", "2"});
  const Outcome tracked = run(program.tracked_to("record=" + program.file("%p.record"),
                                                 {"--events=64M", "--follow-children"}));
  CHECK(tracked.status == 0);
  std::size_t records = 0;
  for (const std::string& name : program.files()) {
    if (!name.ends_with(".record")) continue;
    ++records;
    const Outcome outcome = convert({"--replay", program.file(name)});
    CAPTURE(outcome.out);
    CHECK(outcome.exit_code() == 0);
  }
  CHECK(records >= 3);
}

TEST_CASE("a log that was full, or is not there, is no proof of anything") {
  Outcome outcome = replay({ALLOCTAP_PROGRAMS "known_mix"}, {"--events=64K"});
  CHECK(outcome.exit_code() == 1);
  CHECK(outcome.out.find("heap.record' has the first ") != std::string::npos);
  outcome = replay({ALLOCTAP_PROGRAMS "known_mix"}, {});
  CHECK(outcome.exit_code() == 1);
  CHECK(outcome.out.find(" has no events; alloctap-run --events=") != std::string::npos);
}

TEST_CASE("events that add up to other numbers are found, and a record cut short in them") {
  const LoggedRun recorded({ALLOCTAP_PROGRAMS "known_mix"});
  const std::string record = text_of(recorded.record());
  const std::size_t events = record.find("time_step_ns", record.find("\x06"
                                                                     "events\x06")) +
                             12;
  const std::string changed = recorded.program.file("changed.record");
  // What was freed first was an allocation.
  std::string other = record;
  other[events + 1] = static_cast<char>(other[events + 1] ^ 1);
  std::ofstream(changed, std::ios::binary) << other;
  Outcome outcome = convert({"--replay", changed});
  CHECK(outcome.exit_code() == 1);
  CHECK(outcome.out.find(" events differ in ") != std::string::npos);
  CHECK(outcome.out.find("\n  allocations: ") != std::string::npos);
  std::ofstream(changed, std::ios::binary) << record.substr(0, (events + record.size()) / 2);
  outcome = convert({"--replay", changed, "json=" + recorded.made()});
  CHECK(outcome.exit_code() == 1);
  CHECK(outcome.err.find(" is damaged or was cut short, at byte ") != std::string::npos);
  CHECK(outcome.out.find(" has the first ") != std::string::npos);
  CHECK(Dump(recorded.made()).json().at("totals") == recorded.program.dump().json().at("totals"));
}

TEST_CASE("of a record that was cut short what was readable is written, and said") {
  const RecordedRun recorded({ALLOCTAP_PROGRAMS "known_mix"});
  const std::string record = text_of(recorded.record());
  for (const std::size_t part : {1U, 2U, 3U, 5U, 8U}) {
    const std::string cut = recorded.program.file("cut.record");
    std::ofstream(cut, std::ios::binary) << record.substr(0, record.size() * part / 9);
    const Outcome outcome = convert({cut, "json=" + recorded.made()});
    CHECK(outcome.exit_code() == 1);
    CHECK(outcome.err.find("cut.record' is damaged or was cut short, at byte ") !=
          std::string::npos);
    CHECK(Dump(recorded.made()).json().at("program").at("pid") ==
          recorded.program.dump().json().at("program").at("pid"));
  }
}

TEST_CASE("what is no record is refused, and so is a newer one") {
  const RecordedRun recorded({ALLOCTAP_PROGRAMS "known_mix"});
  Outcome outcome = convert({recorded.program.dump_path(), "text=" + recorded.made()});
  CHECK(outcome.exit_code() == 1);
  CHECK(outcome.err.ends_with("dump.json' is no record of alloctap\n"));
  std::string record = text_of(recorded.record());
  record[record.find('\n') + 1] = 77;
  const std::string newer = recorded.program.file("newer");
  std::ofstream(newer, std::ios::binary) << record;
  outcome = convert({newer, "text=" + recorded.made()});
  CHECK(outcome.exit_code() == 1);
  CHECK(outcome.err.find("newer' is a record of version 77") != std::string::npos);
  CHECK(text_of(recorded.made()).empty());
}

TEST_CASE("a report may go to standard output") {
  const RecordedRun recorded({ALLOCTAP_PROGRAMS "known_mix"});
  const std::string record = recorded.record();
  CHECK(convert({record, "text=" + recorded.made()}).exit_code() == 0);
  const Outcome outcome = convert({record, "text=-"});
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.out == text_of(recorded.made()));
  CHECK(outcome.err == "");
}

TEST_CASE("the ending of a path tells the format of what is converted") {
  const RecordedRun recorded({ALLOCTAP_PROGRAMS "known_mix"});
  const std::string page = recorded.made() + ".html";
  const std::string json = recorded.made() + ".json";
  const std::string text = recorded.made() + "-text";
  const Outcome outcome =
      convert({recorded.record(), "-o", page, "--output=" + json, "-o", text, "-o", "-"});
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.err == "");
  CHECK(text_of(page).starts_with("<!doctype html>"));
  CHECK(Dump(json).json() == recorded.program.dump().json());
  CHECK(text_of(text) == outcome.out);
  CHECK(outcome.out.starts_with("alloctap "));
}

TEST_CASE("a misspelt option, format or ending is answered with the one that is meant") {
  CHECK(convert({"x", "--outptu=y"}).err ==
        "alloctap-convert: unknown option '--outptu=y'; did you mean --output? See "
        "alloctap-convert --help\n");
  CHECK(convert({"x", "jsno=y"}).err ==
        "alloctap-convert: 'jsno=y': unknown format; did you mean json?\n");
  CHECK(convert({"x", "-o", "y.htlm"})
            .err.ends_with(
                "--output 'y.htlm': no format goes by the ending '.htlm'; did you mean .html?\n"));
  CHECK(convert({"x", "-o", ""}).err.ends_with("--output '': the path is empty\n"));
}

TEST_CASE("a command line that asks for nothing sensible is refused") {
  for (const Texts& arguments :
       {Texts{}, Texts{"record"}, Texts{"record", "text"}, Texts{"record", "pdf=x"},
        Texts{"record", "text="}, Texts{"/nowhere/record", "text=/dev/null"}}) {
    const Outcome outcome = convert(arguments);
    CHECK(outcome.exit_code() == 2);
    CHECK(outcome.err.starts_with("alloctap-convert: "));
    CHECK(outcome.out.empty());
  }
  CHECK(
      convert({"--help"}).out.find("Usage: alloctap-convert [OPTION]... RECORD [FORMAT=PATH]...") !=
      std::string::npos);
}
