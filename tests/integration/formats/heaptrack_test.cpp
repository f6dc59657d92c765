// heaptrack_print reads from our file what the JSON report says, and from heaptrack's own file of
// the same program nearly the same.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/integration/formats/format_run.hpp"

namespace {

using namespace alloctap::testing;

const std::vector<std::string> kPython{
    "/usr/bin/python3", "-c",
    "import json, decimal; x = [str(i) for i in range(20000)]; import os; os._exit(0)"};

/// Makes the same calls each time, some 20,000 allocations.
const std::vector<std::string> kSqlite{
    "/usr/bin/sqlite3", ":memory:",
    "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n limit "
    "5000) insert into t select i, hex(i) from n; select count(distinct b) from t;"};

/// By stack, in heaptrack's own words.
using Folded = std::map<std::string, std::uint64_t>;

/// What heaptrack_print says of a file.
struct Reading {
  Folded allocations;
  Folded temporary;
  Folded leaked;
};

std::uint64_t sum(const Folded& folded) {
  std::uint64_t sum = 0;
  for (const auto& [stack, number] : folded) sum += number;
  return sum;
}

/// Its report rounds numbers; the data of its flame graphs does not.
Folded read_cost(const std::string& path, const std::string& cost) {
  const std::string folded_path = path + "." + cost;
  const Outcome outcome =
      run({.arguments = {"/usr/bin/heaptrack_print", "-f", path, "-F", folded_path,
                         "--flamegraph-cost-type", cost, "--disable-builtin-suppressions"}});
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  Folded folded;
  std::ifstream file(folded_path);
  REQUIRE(file.good());
  for (std::string line; std::getline(file, line);) {
    const std::size_t space = line.rfind(' ');
    folded[line.substr(0, space)] += std::stoull(line.substr(space + 1));
  }
  return folded;
}

Reading read_file(const std::string& path) {
  return {.allocations = read_cost(path, "allocations"),
          .temporary = read_cost(path, "temporary"),
          .leaked = read_cost(path, "leaked")};
}

void check_totals(const FormatRun& run) {
  const Reading reading = read_file(run.path());
  const Dump json = run.json();
  CHECK(sum(reading.allocations) == json.total("allocations"));
  CHECK(sum(reading.temporary) == json.total("temporary_allocations"));
  CHECK(sum(reading.leaked) == json.total("live_bytes"));
}

/// Of a program whose peak is larger than what snapshots leave out of it.
void check_peak(const FormatRun& run) {
  CHECK(sum(read_cost(run.path(), "peak")) == run.json().json().at("peak").at("live_bytes"));
}

/// Of a file of events: how many '-' are the next event after a '+' of the same number, which is
/// what heaptrack takes for temporary.
std::uint64_t count_temporary(const std::string& path) {
  std::ifstream file(path);
  std::string before;
  std::uint64_t count = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('+') && !line.starts_with('-')) continue;
    count += line[0] == '-' && before.starts_with('+') && line.substr(1) == before.substr(1);
    before = line;
  }
  return count;
}

/// Of a program with one thread: its peak is told to the byte.
void check_events(const FormatRun& run) {
  const Reading reading = read_file(run.path());
  const Dump json = run.json();
  CHECK(json.json().at("account").at("unlogged_events") == 0);
  CHECK(sum(reading.allocations) == json.total("allocations"));
  CHECK(sum(reading.temporary) == count_temporary(run.path()));
  CHECK(sum(reading.leaked) == json.total("live_bytes"));
  CHECK(sum(read_cost(run.path(), "peak")) == json.total("peak_live_bytes"));
}

/// heaptrack's own data file of a program, which needs a directory.
std::string track_with_heaptrack(const std::vector<std::string>& program, const std::string& base) {
  std::vector<std::string> command{"/usr/bin/heaptrack", "-o", base};
  command.insert(command.end(), program.begin(), program.end());
  const Outcome outcome = run({.arguments = command});
  CAPTURE(outcome.err);
  REQUIRE(outcome.status == 0);
  for (const char* suffix : {".zst", ".gz"}) {
    if (std::filesystem::exists(base + suffix)) return base + suffix;
  }
  FAIL("heaptrack left no file");
  return {};
}

/// What main did: heaptrack brings a C++ library, whose own allocations come on top.
Folded from_main(const Folded& folded) {
  Folded found;
  for (const auto& [stack, number] : folded) {
    if (stack.starts_with("main ") && number > 0) found[stack] = number;
  }
  return found;
}

void check_near(std::uint64_t one, std::uint64_t other) {
  const std::uint64_t difference = std::max(one, other) - std::min(one, other);
  CAPTURE(one);
  CAPTURE(other);
  CHECK(difference * 1000 <= std::max(one, other));
}

}  // namespace

TEST_CASE("heaptrack_print counts what the report counts") {
  const FormatRun run({ALLOCTAP_PROGRAMS "known_mix"}, "heaptrack", "heap.txt");
  check_totals(run);
  check_peak(run);
  const Outcome outcome = alloctap::testing::run(
      {.arguments = {"/usr/bin/heaptrack_print", "-f", run.path(), "-l", "1"}});
  CHECK(outcome.status == 0);
  for (const char* line :
       {"calls to allocation functions: 106530 ", "temporary memory allocations: 100101 ",
        "total memory leaked: 599.50K\n"}) {
    CAPTURE(line);
    CHECK(outcome.out.find(line) != std::string::npos);
  }
}

TEST_CASE("heaptrack_print counts what a program did that nobody wrote for it") {
  const FormatRun run(kPython, "heaptrack", "heap.txt");
  check_totals(run);
  check_peak(run);
}

TEST_CASE("heaptrack_print counts blocks whose stacks are not known") {
  check_totals(
      FormatRun({ALLOCTAP_PROGRAMS "known_mix"}, "heaptrack", "heap.txt", {"--stack=none"}));
  check_totals(
      FormatRun({ALLOCTAP_PROGRAMS "known_mix"}, "heaptrack", "heap.txt", {"--min-size=100"}));
}

// To heaptrack a block is temporary that is freed right after an allocation of the same size and
// stack, to us one that is freed before its thread allocates again: of blocks that are freed in the
// order of their allocation, the first counts there if all are of one size, the last one here.
TEST_CASE("heaptrack sees by itself what our file tells it") {
  const FormatRun run({ALLOCTAP_PROGRAMS "known_mix"}, "heaptrack", "heap.txt");
  const Reading ours = read_file(run.path());
  const Reading its =
      read_file(track_with_heaptrack({ALLOCTAP_PROGRAMS "known_mix"}, run.file("its")));
  check_near(sum(ours.allocations), sum(its.allocations));
  check_near(sum(ours.temporary), sum(its.temporary));
  check_near(sum(ours.leaked), sum(its.leaked));
  CHECK(from_main(ours.allocations).size() == 5);
  CHECK(from_main(ours.allocations) == from_main(its.allocations));
  CHECK(from_main(ours.leaked) == from_main(its.leaked));
}

const std::vector<std::string> kLogged{"--events=256M"};

TEST_CASE("heaptrack_print reads every event as it was") {
  check_events(FormatRun({ALLOCTAP_PROGRAMS "known_mix"}, "heaptrack", "heap.txt", kLogged));
  check_events(FormatRun(kPython, "heaptrack", "heap.txt", kLogged));
  check_events(FormatRun(kSqlite, "heaptrack", "heap.txt", kLogged));
}

TEST_CASE("heaptrack sees by itself the events that our file tells it, temporary ones too") {
  const FormatRun run(kSqlite, "heaptrack", "heap.txt", kLogged);
  const Reading ours = read_file(run.path());
  const Reading its = read_file(track_with_heaptrack(kSqlite, run.file("its")));
  check_near(sum(ours.allocations), sum(its.allocations));
  check_near(sum(ours.temporary), sum(its.temporary));
}

TEST_CASE("where the log was full, heaptrack_print counts the totals, and the file says so") {
  const FormatRun run({ALLOCTAP_PROGRAMS "known_mix"}, "heaptrack", "heap.txt", {"--events=64K"});
  CHECK(run.json().json().at("account").at("unlogged_events") > 100'000);
  CHECK(run.text().find(" events are in every number, but not in the event log") !=
        std::string::npos);
  check_totals(run);
}
