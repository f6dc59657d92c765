// What alloctap-diff says of reports of tracked programs.
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tests/integration/support/file_text.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;
using Texts = std::vector<std::string>;

bool holds(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CAPTURE(part);
  const bool found = text.find(part) != text.npos;
  CHECK(found);
  return found;
}

/// Reports of two runs: the second forgets three blocks of 500 bytes more.
class TwoReports {
 public:
  TwoReports() {
    REQUIRE(run(program_.tracked_to("json=" + before())).exit_code() == 0);
    for (const char* more : {"1", "2", "3"}) program_.command().arguments.emplace_back(more);
    REQUIRE(run(program_.tracked_to("json=" + after())).exit_code() == 0);
  }

  [[nodiscard]] std::string before() const { return program_.file("before.json"); }
  [[nodiscard]] std::string after() const { return program_.file("after.json"); }

  [[nodiscard]] std::string file(const std::string& name) const { return program_.file(name); }

  [[nodiscard]] Outcome compare(const Texts& arguments) const {
    Command command{.arguments = {ALLOCTAP_DIFF_BINARY}, .directory = program_.file("")};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    return run(command);
  }
  [[nodiscard]] Outcome compare() const { return compare({"before.json", "after.json"}); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(program_.file(name), std::ios::binary) << text;
  }

 private:
  TrackedProgram program_{{ALLOCTAP_PROGRAMS "leaks"}};
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("what grew between two runs is shown with its stack") {
  const TwoReports reports;
  const Outcome outcome = reports.compare();
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.err == "");
  holds(outcome.out, "-> 5.4 KiB: +1.5 KiB in +3 blocks\n");
  holds(outcome.out, "Allocated  +1.5 KiB in +3 allocations\n");
  holds(outcome.out,
        "\nStacks that grew, most first: +1.5 KiB in all\n\n"
        "#1  +1.5 KiB in +3 blocks (1000 B -> 2.4 KiB); +3 allocations of +1.5 KiB\n"
        "    forget_block   ");
  CHECK(outcome.out.find("Stacks that shrank") == std::string::npos);
  CHECK(outcome.out.find("grow_pool") == std::string::npos);
}

TEST_CASE("what shrank is shown too, most first") {
  const TwoReports reports;
  const Outcome outcome = reports.compare({"after.json", "before.json"});
  CHECK(outcome.exit_code() == 0);
  holds(outcome.out,
        "Stacks that shrank, most first: -1.5 KiB in all\n\n#1  -1.5 KiB in -3 blocks");
  CHECK(outcome.out.find("Stacks that grew") == std::string::npos);
}

TEST_CASE("growth beyond what is allowed is told by the exit status") {
  const TwoReports reports;
  const auto code = [&](const std::string& allow) {
    return reports.compare({"before.json", "after.json", "--allow=" + allow}).exit_code();
  };
  CHECK(code("1500") == 0);
  CHECK(code("2K") == 0);
  CHECK(code("1499") == 1);
  CHECK(code("0") == 1);
  CHECK(reports.compare({"after.json", "before.json", "--allow=0"}).exit_code() == 0);
  CHECK(reports.compare({"after.json", "after.json", "--allow=0"}).exit_code() == 0);
  holds(reports.compare({"before.json", "after.json", "--allow", "10"}).err,
        "memory grew by 1500 bytes, more than the 10 allowed\n");
}

TEST_CASE("a report that was cut short is compared as far as it goes") {
  const TwoReports reports;
  const std::string whole = file_text(reports.after());
  for (std::size_t length = 0; length < whole.size() - 1; length += whole.size() / 40 + 1) {
    CAPTURE(length);
    reports.write("cut.json", whole.substr(0, length));
    const Outcome outcome = reports.compare({"before.json", "cut.json"});
    CHECK(outcome.exit_code() == 1);
    CHECK(outcome.err.starts_with("alloctap-diff: 'cut.json' is "));
  }
  const std::size_t inside = whole.find("\"sizes\"");
  REQUIRE(inside != whole.npos);
  reports.write("cut.json", whole.substr(0, inside));
  const Outcome outcome = reports.compare({"before.json", "cut.json"});
  CHECK(outcome.exit_code() == 1);
  holds(outcome.err, "is cut short");
  holds(outcome.out, "+1.5 KiB in +3 blocks");
}

TEST_CASE("foreign files are refused, newer ones are read, absent ones are trouble") {
  const TwoReports reports;
  const std::string whole = file_text(reports.after());
  reports.write("newer.json", replaced(whole, "alloctap.heap/1", "alloctap.heap/7"));
  Outcome outcome = reports.compare({"before.json", "newer.json"});
  CHECK(outcome.exit_code() == 1);
  holds(outcome.err, "'newer.json' has the schema alloctap.heap/7");
  holds(outcome.out, "+1.5 KiB in +3 blocks");
  outcome = reports.compare({"/bin/sh", "after.json"});
  CHECK(outcome.exit_code() == 1);
  CHECK(outcome.out == "");
  holds(outcome.err, "'/bin/sh' is no report of alloctap in JSON");
  outcome = reports.compare({"absent.json", "after.json"});
  CHECK(outcome.exit_code() == 2);
  holds(outcome.err, "'absent.json' cannot be read: No such file or directory");
}

TEST_CASE("two builds of a program are compared by functions") {
  const TwoReports reports;
  const Dump dump(reports.after());
  std::string id;
  for (const Json& module : dump.json().at("modules")) {
    if (module.at("path").get<std::string>().ends_with("/leaks")) id = module.at("build_id");
  }
  REQUIRE(id.size() == 40);
  reports.write("rebuilt.json", replaced(file_text(reports.after()), id, std::string(40, '0')));
  const Outcome by_place = reports.compare({"before.json", "rebuilt.json"});
  holds(by_place.err, "was built anew in between");
  holds(by_place.err, "--match=functions");
  holds(by_place.out, "Stacks that shrank");
  const Outcome by_name = reports.compare({"before.json", "rebuilt.json", "--match=functions"});
  CHECK(by_name.err == "");
  holds(by_name.out, "#1  +1.5 KiB in +3 blocks");
  CHECK(by_name.out.find("Stacks that shrank") == std::string::npos);
}

TEST_CASE("what a file names cannot give orders to a terminal") {
  const TwoReports reports;
  reports.write("evil.json", replaced(file_text(reports.after()), "\"function\":\"forget_block\"",
                                      "\"function\":\"\\u001b[2J\\u0007\""));
  const Outcome outcome = reports.compare({"before.json", "evil.json"});
  CHECK(outcome.out.find('\x1b') == std::string::npos);
  holds(outcome.out, "    ?[2J?");
}

TEST_CASE("wrong usage is told with the remedy") {
  const TwoReports reports;
  const struct {
    Texts arguments;
    std::string text;
  } cases[] = {
      {{}, "write alloctap-diff BEFORE.json AFTER.json"},
      {{"a.json"}, "there is 1 file; write"},
      {{"a.json", "b.json", "c.json"}, "there are 3 files"},
      {{"a.json", "b.json", "--allow=many"}, "--allow 'many': write a number of bytes"},
      {{"a.json", "b.json", "--allow=-1"}, "--allow '-1': write a number of bytes"},
      {{"a.json", "b.json", "--match=names"}, "--match 'names': unknown; write places or"},
      {{"a.json", "b.json", "--most=few"}, "--most 'few': write a whole number"},
      {{"a.json", "b.json", "--bogus"}, "unknown option '--bogus'; see alloctap-diff --help"},
      {{"a.json", "b.json", "--mtach=x"}, "did you mean --match? See alloctap-diff"}};
  for (const auto& [arguments, text] : cases) {
    const Outcome outcome = reports.compare(arguments);
    CAPTURE(text);
    CHECK(outcome.exit_code() == 2);
    CHECK(outcome.out == "");
    holds(outcome.err, text);
  }
  const Outcome help = reports.compare({"--help"});
  CHECK(help.exit_code() == 0);
  for (const char* text : {"\nUsage: alloctap-diff [OPTION]... BEFORE.json AFTER.json\n",
                           "--allow BYTES", "--match CHOICE", "--most N", "Exit status"}) {
    holds(help.out, text);
  }
  CHECK(reports.compare({"--version"}).out.starts_with("alloctap-diff "));
}

TEST_CASE("output that cannot be written is trouble") {
  const TwoReports reports;
  const Outcome outcome =
      run({.arguments = {"/bin/sh", "-c", "exec \"$0\" \"$1\" \"$2\" > /dev/full",
                         ALLOCTAP_DIFF_BINARY, reports.before(), reports.after()}});
  CHECK(outcome.exit_code() == 2);
  holds(outcome.err, "No space left on device");
}

TEST_CASE("a page of the difference holds both reports") {
  const TwoReports reports;
  const Outcome outcome = reports.compare({"before.json", "after.json", "--html=page.html"});
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.err == "");
  const std::string page = file_text(reports.file("page.html"));
  holds(page, "<!doctype html>");
  const std::size_t shown = page.find(R"(id="report">{"schema")");
  const std::size_t base = page.find(R"(id="base">{"schema")");
  REQUIRE(shown != page.npos);
  REQUIRE(base != page.npos);
  CHECK(page.find("forget_block", shown) < base);
  CHECK(page.find("forget_block", base) != page.npos);
}

TEST_CASE("there is no page of a damaged report, or where it cannot be written") {
  const TwoReports reports;
  const std::string whole = file_text(reports.after());
  reports.write("cut.json", whole.substr(0, whole.size() * 3 / 4));
  const Outcome cut = reports.compare({"before.json", "cut.json", "--html=page.html"});
  CHECK(cut.exit_code() == 1);
  holds(cut.err, "no page is written");
  CHECK(file_text(reports.file("page.html")) == "");
  const Outcome nowhere = reports.compare({"before.json", "after.json", "--html=no/page.html"});
  CHECK(nowhere.exit_code() == 2);
  holds(nowhere.err, "no/page.html");
}
