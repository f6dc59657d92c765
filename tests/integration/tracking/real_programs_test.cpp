// Programs that nobody here wrote work as ever, and their reports hold together.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"
#include "tests/integration/support/unchanged_program.hpp"

namespace {

using namespace alloctap::testing;

void write_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string many_elements() {
  std::string xml = "<?xml version=\"1.0\"?>\n<list>\n";
  for (int i = 0; i < 3000; ++i) {
    const std::string id = std::to_string(i);
    xml += "  <item id=\"" + id + "\"><name>number " + id + "</name><value>&lt;</value></item>\n";
  }
  return xml + "</list>\n";
}

}  // namespace

TEST_CASE("xmllint prints what it prints") {
  TrackedProgram program(
      {"/usr/bin/xmllint", "--format", "--xpath", "//item[@id mod 7 = 0]/name", "list.xml"});
  write_file(program.file("list.xml"), many_elements());
  const Dump dump = report_of_unchanged(program);
  CHECK(dump.total("allocations") > 20'000);
  CHECK(dump.account("failed_unwinds") == 0);
  CHECK_FALSE(dump.stacks_through("xmlStrndup").empty());
}

TEST_CASE("the compiler compiles a file full of templates to the same code") {
  const Outcome found = run({.arguments = {"/usr/bin/g++", "-print-prog-name=cc1plus"}});
  const std::string compiler = found.out.substr(0, found.out.find('\n'));
  TrackedProgram program({compiler, "-quiet", "-imultiarch", ALLOCTAP_MULTIARCH, "-D_GNU_SOURCE",
                          "-std=c++20", "-O0", "templates.cpp", "-o", "/dev/stdout"});
  write_file(program.file("templates.cpp"), R"(
#include <map>
#include <string>
#include <vector>
template <int N> struct Sum { static constexpr int value = N + Sum<N - 1>::value; };
template <> struct Sum<0> { static constexpr int value = 0; };
std::map<std::string, std::vector<std::map<int, std::string>>> table;
int f() { table["key"].push_back({{1, "one"}}); return Sum<500>::value; }
)");
  const Dump dump = report_of_unchanged(program);
  CHECK(dump.total("allocations") > 20'000);
  CHECK(dump.account("failed_unwinds") == 0);
}

TEST_CASE("the compiler's driver and its children each leave a report") {
  TrackedProgram program({"/usr/bin/g++", "-fsyntax-only", "empty.cpp"});
  write_file(program.file("empty.cpp"), "int x;\n");
  const Outcome outcome =
      run(program.tracked_to("json=" + program.file("%p.json"), {"--follow-children"}));
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  std::vector<std::string> names;
  for (const std::string& file : program.files()) {
    if (!file.ends_with(".json")) continue;
    const Dump dump(program.file(file));
    check_report(dump);
    const std::string executable = dump.json().at("program").at("executable");
    names.push_back(executable.substr(executable.rfind('/') + 1));
  }
  REQUIRE(names.size() == 2);
  CHECK(std::count(names.begin(), names.end(), "cc1plus") == 1);
}

TEST_CASE("a shell script's own programs are not tracked, and it does not notice") {
  const TrackedProgram program(
      {"/bin/sh", "-c", "for i in 1 2 3; do echo $i | tr 1-3 a-c; done; (exit 3)"});
  const Dump dump = report_of_unchanged(program);
  CHECK(dump.json().at("program").at("arguments").at(0) == "/bin/sh");
}

TEST_CASE("a program that allocates nothing leaves a report without stacks") {
  const TrackedProgram program({ALLOCTAP_PROGRAMS "semantics"});
  const Dump dump = report_of_unchanged(program);
  CHECK(dump.usage() == HeapUsage{});
  CHECK(dump.json().at("stacks").empty());
}

TEST_CASE("without a dump the report for people goes to standard error, and nothing else changes") {
  const TrackedProgram program({"/bin/echo", "said"});
  Command command = program.untracked();
  command.arguments.insert(command.arguments.begin(), {ALLOCTAP_RUN_BINARY, "--"});
  const Outcome outcome = run(command);
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "said\n");
  CHECK(outcome.err.find("who holds the memory of /usr/bin/echo") != std::string::npos);
}

TEST_CASE("reports of both forms can be had of one run") {
  const TrackedProgram program({"/bin/echo", "said"});
  const Outcome outcome = run(program.tracked({"--dump=text=" + program.file("dump.txt")}));
  CHECK(outcome.out == "said\n");
  CHECK(outcome.err == "");
  check_report(program.dump());
  std::ifstream text(program.file("dump.txt"));
  std::string first;
  std::getline(text, first);
  CHECK(first.find("/usr/bin/echo") != std::string::npos);
}
