#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;
using Texts = std::vector<std::string>;

const std::string kHoldsMemory = std::string(ALLOCTAP_PROGRAMS) + "holds_memory";

/// The report of one run of `program` with `options`.
Json report_of(const TrackedProgram& program, const Texts& options) {
  const Outcome outcome = run(program.tracked(options));
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  Json report = program.dump().json();
  CHECK(find_misshapen(report, report_shape(), "") == "");
  CHECK(report.at("account").at("dropped") == 0);
  return report;
}

void check_same_calls(const Json& one, const Json& other) {
  for (const char* key : {"allocations", "deallocations", "temporary_allocations"}) {
    CAPTURE(key);
    CHECK(one.at("totals").at(key) == other.at("totals").at(key));
  }
}

void check_calls_are_exact(TrackedProgram& program) {
  const Json exact = report_of(program, {});
  CHECK(exact.at("sampling").at("exact") == true);
  CHECK(exact.at("account").at("unmatched_frees") == 0);
  const Json sampled = report_of(program, {"--sample=16K"});
  CHECK(sampled.at("sampling").at("exact") == false);
  CHECK(sampled.at("sampling").at("mean_bytes") == 16 * 1024);
  CHECK(sampled.at("account").at("unmatched_frees").is_null());
  CHECK(exact.at("totals").at("allocations") > 10'000);
  check_same_calls(sampled, exact);
}

double number(const Json& report, const char* key) {
  return report.at("totals").at(key).get<double>();
}

}  // namespace

TEST_CASE("what is live is estimated within 5 %, and within the stated margin") {
  // More than one run, because each has a seed of its own: 95 of 100 keep to their margin.
  constexpr int kRuns = 9;
  const TrackedProgram program({kHoldsMemory});
  const Json exact = report_of(program, {});
  const double live = number(exact, "live_bytes");
  CHECK(live > 500e6);
  int inside = 0;
  std::set<double> estimates;
  double sum = 0;
  double peaks = 0;
  for (int i = 0; i < kRuns; ++i) {
    const Json sampled = report_of(program, {"--sample=512K"});
    check_same_calls(sampled, exact);
    CHECK(number(sampled, "allocated_bytes") == number(exact, "allocated_bytes"));
    const double error = number(sampled, "live_bytes") - live;
    const auto margin = sampled.at("sampling").at("live_bytes_margin").get<double>();
    CAPTURE(error);
    CHECK(margin > 0.01 * live);
    CHECK(margin < 0.05 * live);
    // Nearly seven standard deviations: an estimate that is low has a low margin too.
    CHECK(std::abs(error) < 3.5 * margin);
    if (std::abs(error) <= margin) ++inside;
    estimates.insert(number(sampled, "live_bytes"));
    sum += number(sampled, "live_bytes");
    peaks += number(sampled, "peak_live_bytes");
    CHECK(sum_over_stacks(sampled, "live_bytes") == sampled.at("totals").at("live_bytes"));
  }
  // Under qemu, all runs have the same addresses.
  CHECK(estimates.size() > 1);
  // Fewer come once in ten million times.
  CHECK(inside >= 3);
  CHECK(std::abs(sum / kRuns / live - 1) < 0.05);
  CHECK(std::abs(peaks / kRuns / number(exact, "peak_live_bytes") - 1) < 0.05);
}

TEST_CASE("calls of programs are counted exactly while they are sampled") {
  SUBCASE("python3") {
    TrackedProgram program({"/usr/bin/python3", "-S", "-c",
                            "d = {i: str(i) * 3 for i in range(20000)}; print(len(d))"});
    program.command().environment = {"PATH=/usr/bin:/bin", "PYTHONMALLOC=malloc",
                                     "PYTHONHASHSEED=0"};
    check_calls_are_exact(program);
  }
  SUBCASE("jq") {
    TrackedProgram program({"/usr/bin/jq", "-n", "[range(20000) | {id: ., name: \"x\"}] | length"});
    program.command().environment = {"PATH=/usr/bin:/bin"};
    check_calls_are_exact(program);
  }
}

TEST_CASE("a mean of one byte is every allocation") {
  const TrackedProgram program({ALLOCTAP_PROGRAMS "known_mix"});
  const Outcome outcome = run(program.tracked({"--sample=1"}));
  CHECK(outcome.status == 0);
  check_report(program.dump());
  CHECK(program.dump().json().at("sampling").at("exact") == true);
}

TEST_CASE("blocks outside the range are one stack, and all totals stay exact") {
  const TrackedProgram program({kHoldsMemory});
  const Outcome outcome = run(program.tracked({"--min-size=20K", "--max-size=600000"}));
  CHECK(outcome.status == 0);
  const Dump dump = program.dump();
  check_report(dump);
  CHECK(dump.account("unmatched_frees") == 0);
  CHECK(dump.json().at("sampling").at("min_bytes") == 20 * 1024);
  CHECK(dump.json().at("sampling").at("max_bytes") == 600'000);
  std::uint64_t outside = 0;
  for (const Json& stack : dump.json().at("stacks")) {
    if (stack.at("outside_size_range") != true) continue;
    CHECK(stack.at("frames").empty());
    CHECK(outside == 0);
    outside = stack.at("live_bytes").get<std::uint64_t>();
  }
  CHECK(outside > 360e6);
  CHECK(outside < 400e6);
}

TEST_CASE("a report for people says that it is sampled") {
  const TrackedProgram program({kHoldsMemory});
  Command command = program.untracked();
  const Texts front{ALLOCTAP_RUN_BINARY, "--sample=512K", "--min-size=2K"};
  command.arguments.insert(command.arguments.begin(), front.begin(), front.end());
  const Outcome outcome = run(command);
  CHECK(outcome.status == 0);
  for (const char* text :
       {"\n  stacks   of blocks from 2,048 bytes on only\n",
        "\n  sampled  1 in about 512.0 KiB; live bytes ", " +- ", " (95 %), from ",
        "    (no stack: size outside the range)\n", "frees of unknown blocks cannot be told"}) {
    CAPTURE(text);
    CHECK(outcome.err.find(text) != std::string::npos);
  }
}
