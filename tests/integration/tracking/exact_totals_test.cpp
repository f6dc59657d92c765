// The totals of real programs are those that valgrind counts.
//
// Both ways of running a program see the same environment: the variables that valgrind sets are
// there in the tracked run, LD_PRELOAD with a value of the same length. So nothing is left to
// differ but addresses.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

namespace fs = std::filesystem;
using namespace alloctap::testing;
using Texts = std::vector<std::string>;

const std::string kValgrind = "/usr/bin/valgrind";
const std::string kPreload = "LD_PRELOAD=";

std::uint64_t number(std::string text) {
  std::erase(text, ',');
  return std::stoull(text);
}

HeapUsage read_valgrind_log(const std::string& path) {
  std::ifstream file(path);
  const std::string log{std::istreambuf_iterator<char>(file), {}};
  const std::regex pattern(R"(in use at exit: ([\d,]+) bytes[^]*)"
                           R"(total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes)");
  std::smatch match;
  REQUIRE(std::regex_search(log, match, pattern));
  return {.allocations = number(match[2]),
          .deallocations = number(match[3]),
          .allocated_bytes = number(match[4]),
          .live_bytes = number(match[1])};
}

/// What a program sees that valgrind runs with `environment` in `directory`.
Texts environment_under_valgrind(const Texts& environment, const std::string& directory) {
  const Outcome outcome = run({.arguments = {kValgrind, "-q", "/usr/bin/env"},
                               .environment = environment,
                               .directory = directory});
  std::istringstream lines(outcome.out);
  Texts variables;
  for (std::string line; std::getline(lines, line);) variables.push_back(line);
  return variables;
}

std::string take_preload(Texts& environment) {
  const auto found =
      std::find_if(environment.begin(), environment.end(),
                   [](const std::string& variable) { return variable.starts_with(kPreload); });
  REQUIRE(found != environment.end());
  std::string value = found->substr(kPreload.size());
  environment.erase(found);
  return value;
}

/// LD_PRELOAD with a value of `length` characters that changes nothing: these programs have it.
std::string harmless_preload(std::size_t length) {
  const std::string front = "/usr/lib/" ALLOCTAP_MULTIARCH "/";
  const std::string name = "libm.so.6";
  REQUIRE(length >= front.size() + name.size());
  return kPreload + front + std::string(length - front.size() - name.size(), '/') + name;
}

struct Comparison {
  HeapUsage tracked;
  HeapUsage valgrind;
};

/// Runs a program both ways, and as it is; checks that it cannot tell.
Comparison compare(Texts arguments, const Texts& variables, const std::string& input) {
  TrackedProgram program(std::move(arguments));
  std::ofstream(program.file("input")) << input;
  program.command().input = program.file("input");
  const fs::path directory = fs::canonical(program.file("."));
  program.command().directory = directory;
  // With random ones, one run of Python in some 300 allocated 608 bytes more than the others.
  program.command().fixed_addresses = true;
  const std::string dump_path = directory / "dump.json";
  Texts plain{"PATH=/usr/bin:/bin"};
  plain.insert(plain.end(), variables.begin(), variables.end());

  program.command().environment = environment_under_valgrind(plain, directory);
  const std::string preload = take_preload(program.command().environment);
  program.command().environment.push_back(harmless_preload(preload.size()));
  const Outcome outcome = run(program.tracked_to("json=" + dump_path));

  Command counted = program.untracked();
  const std::string log = program.file("valgrind.log");
  counted.arguments.insert(
      counted.arguments.begin(),
      {kValgrind, "--run-libc-freeres=no", "--run-cxx-freeres=no", "--log-file=" + log});
  counted.environment = plain;
  const Outcome under_valgrind = run(counted);
  const Outcome alone = run(program.untracked());

  for (const Outcome& one : {outcome, under_valgrind}) {
    CHECK(one.status == alone.status);
    CHECK(one.out == alone.out);
    CHECK(one.err == alone.err);
  }
  CHECK(alone.status == 0);
  CHECK_FALSE(alone.out.empty());
  const Dump dump = program.dump();
  check_report(dump);
  CHECK(dump.account("unmatched_frees") == 0);
  CHECK(dump.account("failed_unwinds") == 0);
  return {.tracked = dump.usage(), .valgrind = read_valgrind_log(log)};
}

void check_equal(const Comparison& totals) {
  CHECK(totals.valgrind.allocations >= 20'000);
  CHECK(totals.tracked.allocations == totals.valgrind.allocations);
  CHECK(totals.tracked.deallocations == totals.valgrind.deallocations);
  CHECK(totals.tracked.allocated_bytes == totals.valgrind.allocated_bytes);
  CHECK(totals.tracked.live_bytes == totals.valgrind.live_bytes);
}

}  // namespace

TEST_CASE("the totals of sqlite3 are valgrind's") {
  check_equal(compare({"/usr/bin/sqlite3", ":memory:"}, {}, R"(
    CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, age INTEGER);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO person SELECT i, 'person number ' || i, i % 90 FROM n;
    CREATE INDEX person_by_age ON person(age, name);
    SELECT count(*), group_concat(name) FROM person WHERE age < 3;
  )"));
}

TEST_CASE("the totals of jq are valgrind's") {
  std::string array = "[0";
  for (int i = 1; i < 5000; ++i) {
    array += R"(,{"id":)" + std::to_string(i) + R"(,"tags":["one","another"]})";
  }
  check_equal(
      compare({"/usr/bin/jq", "-c", "map(objects | {id, n: (.tags | length)})"}, {}, array + "]"));
}

TEST_CASE("the totals of perl are valgrind's") {
  check_equal(compare({"/usr/bin/perl", "-e",
                       "my %h; $h{$_} = \"value $_\" for 1 .. 20000; print scalar(%h), \"\\n\";"},
                      {"PERL_HASH_SEED=0"}, ""));
}

TEST_CASE("the totals of python3 are valgrind's, but for numbers that are addresses") {
  // -S: what a machine's own site packages do at start need not be the same twice.
  const Comparison totals = compare(
      {"/usr/bin/python3", "-S", "-c",
       "d = {i: str(i) * 3 for i in range(20000)}; print(len(d), sum(map(len, d.values())))"},
      {"PYTHONMALLOC=malloc", "PYTHONHASHSEED=0"}, "");
  // For each module that it imports, Python makes two integers of its thread's id, an address. It
  // takes 47 bits, and valgrind's low addresses take 27: an integer has four bytes more for that.
  const std::uint64_t more = totals.tracked.allocated_bytes - totals.valgrind.allocated_bytes;
  CHECK(more % 8 == 0);
  CHECK(more * 10'000 < totals.valgrind.allocated_bytes);
  Comparison others = totals;
  others.tracked.allocated_bytes -= more;
  check_equal(others);
}
