// What reports of tracked programs say of leaks.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "tests/integration/support/file_text.hpp"
#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;

/// A program with rules in a file.
struct LeakingProgram : TrackedProgram {
  explicit LeakingProgram(const std::string& rules) : TrackedProgram({ALLOCTAP_PROGRAMS "leaks"}) {
    std::ofstream(file("rules")) << rules;
  }
  [[nodiscard]] std::vector<std::string> option() const {
    return {"--suppressions=" + file("rules")};
  }
};

}  // namespace

TEST_CASE("leaks are what is live at the end, but for what rules name") {
  const LeakingProgram program("leak:^grow_pool$\nleak:nobody\n");
  const Outcome outcome = run(program.tracked(program.option()));
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.err == "");
  const Dump dump = program.dump();
  check_report(dump);
  const Json& leaks = dump.json().at("leaks");
  CHECK(leaks.at("suppressed").at("live_allocations") == 4);
  CHECK(leaks.at("suppressed").at("live_bytes") == 3070);
  CHECK(leaks.at("live_bytes") == dump.total("live_bytes") - 3070);
  REQUIRE(leaks.at("rules").size() == 3);
  CHECK(leaks.at("rules")[0].at("live_bytes") == 3000);
  CHECK(leaks.at("rules")[1].at("stacks") == 0);
  CHECK(leaks.at("rules")[2].at("source") == "__lsan_default_suppressions");
  CHECK(leaks.at("rules")[2].at("pattern") == "keep_in_cache");
  CHECK(leaks.at("rules")[2].at("live_bytes") == 70);
  for (const Json& stack : dump.stacks_through("grow_pool")) CHECK(stack.at("suppressed_by") == 0);
  for (const Json& stack : dump.stacks_through("forget_block")) {
    CHECK(stack.at("suppressed_by").is_null());
  }
}

TEST_CASE("a module names everything that it allocated") {
  const LeakingProgram program("leak:/leaks$");
  CHECK(run(program.tracked(program.option())).exit_code() == 0);
  const Dump dump = program.dump();
  const Json& leaks = dump.json().at("leaks");
  CHECK(leaks.at("suppressed").at("live_bytes").get<std::uint64_t>() >= 4070);
  CHECK(leaks.at("rules")[1].at("stacks") == 0);
}

TEST_CASE("the text shows leaks alone, then the rules that were needed, then the others") {
  const LeakingProgram program("leak:grow_pool\nleak:nobody\n");
  CHECK(run(program.tracked_to("text=" + program.file("report"), program.option())).exit_code() ==
        0);
  const std::string report = file_text(program.file("report"));
  const std::size_t leaked = report.find("Leaked     ");
  const std::size_t rules = report.find("Suppressed, by rule");
  const std::size_t others = report.find("Rules that matched nothing\n  leak:nobody   ");
  CAPTURE(report);
  CHECK(leaked < rules);
  CHECK(rules < others);
  CHECK(others != report.npos);
  CHECK(report.find("    forget_block") < rules);
  CHECK(report.find("    grow_pool") == report.npos);
  CHECK(report.find("keep_in_cache\n") > rules);
}

TEST_CASE("without suppressions nobody asks for leaks") {
  const LeakingProgram program("");
  CHECK(run(program.tracked()).exit_code() == 0);
  CHECK(program.dump().json().at("leaks").is_null());
}

TEST_CASE("rules that went before they were read are told, and the report is written") {
  const LeakingProgram program("leak:grow_pool");
  // The launcher reads them; the program's own loader finds them gone.
  Command command = program.tracked(program.option());
  command.arguments.insert(command.arguments.end() - 1, {"/bin/sh", "-c", "rm rules; exec \"$0\""});
  const Outcome outcome = run(command);
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.err.find("cannot read the suppressions ") != std::string::npos);
  CHECK(outcome.err.find("/rules: No such file or directory") != std::string::npos);
  CHECK(program.dump().json().at("leaks").at("rules").size() == 1);
}
