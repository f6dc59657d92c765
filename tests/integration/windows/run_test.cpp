// Programs of Windows under alloctap-run.exe.
#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "alloctap/os/windows/dump_key.hpp"
#include "tests/integration/windows/run_workplace.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;
using Json = nlohmann::json;
namespace fs = std::filesystem;

/// How many live blocks of `bytes` each a report has in stacks of one block.
std::size_t live_blocks_of(const Json& report, std::uint64_t bytes) {
  std::size_t count = 0;
  for (const Json& stack : report.at("stacks")) {
    const bool is_one = stack.at("live_allocations") == 1 && stack.at("live_bytes") == bytes;
    count += is_one ? 1 : 0;
  }
  return count;
}

/// How many of these reports have a live block of `bytes`.
std::size_t reports_with(const std::vector<Json>& reports, std::uint64_t bytes) {
  std::size_t count = 0;
  for (const Json& report : reports) count += live_blocks_of(report, bytes);
  return count;
}

}  // namespace

TEST_CASE("a program runs as it would alone: arguments, output, exit code") {
  const Workplace place;
  const std::string arguments = R"(arguments plain "two words" "a \"quote\"" "" C:\dir\ "end \\")";
  PipedProgram alone('"' + kProgram + "\" " + arguments, place.file("."));
  const PipedOutcome expected = alone.finish();
  const PipedOutcome tracked = place.run("--dump json=a.json", arguments);
  CAPTURE(tracked.err);
  CHECK(tracked.out == expected.out);
  CHECK(expected.out.find("two words") != std::string::npos);
  CHECK(tracked.err == "");
  CHECK(tracked.code == 7);
  CHECK(place.run("--dump json=a.json", "failing").code == 0xE0000001);
}

TEST_CASE("known blocks are in the report, by either hook") {
  for (const std::string hook : {"inline", "imports"}) {
    CAPTURE(hook);
    const Workplace place;
    const PipedOutcome outcome =
        place.run("--hook=" + hook + " --dump json=a.json --dump text=a.txt", "blocks");
    CAPTURE(outcome.err);
    CHECK(outcome.err == "");
    CHECK(outcome.code == 7);
    const Json report = place.json("a.json");
    for (const std::uint64_t bytes : {1000, 2000, 3000, 4000}) {
      CAPTURE(bytes);
      CHECK(live_blocks_of(report, bytes) == 1);
    }
    CHECK(report.at("mappings").at("live_bytes") >= 64 * 1024);
    CHECK(report.at("totals").at("temporary_allocations") >= 100);
    CHECK(report.at("account").at("dropped") == 0);
    CHECK(fs::file_size(place.file("a.txt")) > 500);
  }
}

TEST_CASE("without --dump the report goes to standard error") {
  const Workplace place;
  const PipedOutcome outcome = place.run("", "blocks");
  CHECK(outcome.code == 7);
  CHECK(outcome.out == "");
  CHECK(outcome.err.find("Stacks that hold live memory, most first") != std::string::npos);
}

TEST_CASE("a program that ends itself without a word leaves its report") {
  const Workplace place;
  CHECK(place.run("--dump json=a.json", "terminated").code == 9);
  CHECK(live_blocks_of(place.json("a.json"), 12345) == 1);
}

TEST_CASE("whoever sets the event gets a report while the program runs") {
  const Workplace place;
  PipedProgram program = place.start("--dump json=%n.json", "waiting");
  REQUIRE(program.started());
  const auto id = static_cast<DWORD>(std::stoul(program.read_line()));
  const os::Handle event(::OpenEventW(EVENT_MODIFY_STATE, FALSE, os::DumpEventName(id).c_str()));
  REQUIRE(event);
  for (const char* const report : {"1.json", "2.json"}) {
    ::SetEvent(event.get());
    for (int i = 0; i < 400 && !fs::exists(place.file(report)); ++i) ::Sleep(25);
    CHECK(live_blocks_of(place.json(report), 54321) == 1);
  }
  program.write("\n");
  CHECK(program.finish().code == 7);
  CHECK(live_blocks_of(place.json("3.json"), 54321) == 1);
}

TEST_CASE("reports come by the clock") {
  const Workplace place;
  PipedProgram program = place.start("--interval 0.05 --dump json=%n.json", "waiting");
  CHECK(std::stoul(program.read_line()) > 0);
  for (int i = 0; i < 400 && !fs::exists(place.file("3.json")); ++i) ::Sleep(25);
  program.write("\n");
  CHECK(program.finish().code == 7);
  CHECK(live_blocks_of(place.json("2.json"), 54321) == 1);
}

TEST_CASE("processes that the program starts leave reports of their own where that is asked") {
  for (const std::string hook : {"inline", "imports"}) {
    CAPTURE(hook);
    const Workplace place;
    const PipedOutcome outcome =
        place.run("--hook=" + hook + " --follow-children --dump json=%p.json", "parent");
    CHECK(outcome.err == "");
    CHECK(outcome.code == 7);
    const std::vector<Json> reports = place.reports();
    CHECK(reports.size() == 3);
    CHECK(reports_with(reports, 66666) == 1);
    CHECK(reports_with(reports, 77777) == 2);
  }
}

TEST_CASE("processes that the program starts are left alone where nothing is asked") {
  const Workplace place;
  CHECK(place.run("--dump json=%p.json", "parent").code == 7);
  const std::vector<Json> reports = place.reports();
  REQUIRE(reports.size() == 1);
  CHECK(reports_with(reports, 66666) == 1);
}

TEST_CASE("a process that is to stand still at first does, and is tracked") {
  const Workplace place;
  const PipedOutcome outcome = place.run("--follow-children --dump json=%p.json", "suspended");
  CHECK(outcome.err == "");
  CHECK(outcome.code == 7);
  CHECK(reports_with(place.reports(), 77777) == 1);
}

TEST_CASE("a process that the program debugs runs on untracked, and that is said") {
  const Workplace place;
  const PipedOutcome outcome = place.run("--follow-children --dump json=%p.json", "debugger");
  CHECK(outcome.err.find("is not tracked: its parent debugs it") != std::string::npos);
  CHECK(outcome.code == 7);
  CHECK(place.reports().size() == 1);
}

TEST_CASE("misuse is told in a line when it is found, and in the report") {
  const Workplace place;
  const PipedOutcome outcome = place.run("--checks=level10 --dump json=a.json", "misuse");
  CHECK(outcome.code == 7);
  CHECK(outcome.err ==
        "alloctap-run: double free; the report tells of it\n"
        "alloctap-run: write behind a block; the report tells of it\n");
  const Json faults = place.json("a.json").at("misuses").at("faults");
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].at("kind") == "double_free");
  CHECK(faults[0].at("block").at("size") == 100);
  CHECK(faults[0].at("block").at("heap") == faults[0].at("heap"));
  CHECK(faults[1].at("kind") == "write_behind");
  CHECK(faults[1].at("changed").at("first") == 200);
}

TEST_CASE("a read beside a block is told where pages guard it") {
  const Workplace place;
  const PipedOutcome outcome =
      place.run("--guard-pages=all --checks=outlive_faults --dump json=a.json", "reader");
  CHECK(outcome.code == 7);
  CHECK(outcome.err == "alloctap-run: read behind a block; the report tells of it\n");
  const Json misuses = place.json("a.json").at("misuses");
  CHECK(misuses.at("guard_pages").at("one_in") == 1);
  CHECK(misuses.at("guard_pages").at("placed") > 0);
  REQUIRE(misuses.at("faults").size() == 1);
  const Json& fault = misuses.at("faults")[0];
  CHECK(fault.at("kind") == "read_behind");
  CHECK(fault.at("block").at("size") == 100);
  CHECK(fault.at("address").get<std::uint64_t>() ==
        fault.at("block").at("address").get<std::uint64_t>() + 112);
  CHECK(fault.at("found").at("frames").size() > 2);
}

TEST_CASE("a copy that reads too much is told where functions of strings are checked") {
  const Workplace place;
  CHECK(place.run("--checks=level10 --dump json=a.json", "copier").err == "");
  const PipedOutcome outcome = place.run("--string-checks --dump json=a.json", "copier");
  CHECK(outcome.code == 7);
  CHECK(outcome.err == "alloctap-run: read behind a block; the report tells of it\n");
  const Json faults = place.json("a.json").at("misuses").at("faults");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].at("access").at("function") == "memcpy");
  CHECK(faults[0].at("access").at("bytes") == 101);
  CHECK(faults[0].at("block").at("size") == 100);
}

TEST_CASE("a program without faults runs as it would alone under all checks") {
  const Workplace place;
  const auto run = [&](const std::string& checks, const std::string& program) {
    CAPTURE(checks);
    CAPTURE(program);
    const PipedOutcome outcome =
        place.run(checks + " --error-exitcode=50 --follow-children --dump json=%p.json", program);
    CHECK(outcome.err == "");
    CHECK(outcome.code == 7);
  };
  for (const std::string program : {"blocks", "arguments a b", "parent", "suspended"}) {
    run("--checks=level10", program);
    run("--guard-pages=all,random", program);
    run("--string-checks", program);
  }
  for (const Json& report : place.reports()) {
    CHECK(report.at("misuses").at("faults").empty());
    CHECK(report.at("account").at("unmatched_frees").is_number());
  }
}

TEST_CASE(
    "a program that misuses blocks ends with the code that was asked for, but not of a crash") {
  const Workplace place;
  const std::string options = "--checks=level10 --error-exitcode=50 --dump json=a.json";
  CHECK(place.run(options, "misuse").code == 50);
  CHECK(place.run(options, "misuse terminated").code == 50);
  CHECK(place.run(options, "failing").code == 0xE0000001);
  CHECK(place.run(options, "crash").code == EXCEPTION_ACCESS_VIOLATION);
}

TEST_CASE("what cannot be is said in one line, and nothing runs") {
  struct Case {
    std::string options;
    std::string program;
    DWORD code;
    std::string says;
  };
  const Workplace place;
  std::ofstream(place.file("text.exe")) << "text";
  const std::vector<Case> cases{
      {"", "missing.exe", 127, "program 'missing.exe': No such file or directory (error 2)"},
      {"", "text.exe", 126, "program 'text.exe' is no program for Windows (no PE file)"},
      {"", "C:\\windows", 126, "program 'C:\\\\windows': Permission denied (error 5)"},
      {"--signal=USR1", kProgram, 2, "unknown option '--signal=USR1'"},
      {"--follow-children --dump json=a.json", kProgram, 2, "put %p into its name"},
      {"--dump json=b.json --dump text=B.JSON", kProgram, 2, "goes to the same file"},
      {"--hook=plt", kProgram, 2, "--hook 'plt': unknown; write one of inline, imports"},
      {"--checks=level10 --hook=imports", kProgram, 2,
       "--checks 'level10': blocks can be checked with --hook=inline alone"},
      {"--checks=level7,guard=0", kProgram, 2, "--checks 'level7,guard=0': "},
      {"--checks=level10 --events=1M", kProgram, 2, "it excludes --events; leave one out"},
      {"--error-exitcode=5", kProgram, 2, "nothing is looked for; write --leaks=CHOICE"},
      {"--checks=guard --error-exitcode=256", kProgram, 2, "write a whole number from 1 to 255"},
      {"--dump json=none/a.json", kProgram, 2, "there is no directory"},
      {"-o none/a.json", kProgram, 2, "there is no directory"},
      {"-o -", kProgram, 2, "reports cannot go to standard output on this system"},
      {"--dump json=.", kProgram, 2, "the path is a directory; add a file name"},
      {"--dump json=a.json --dump text=a.json", kProgram, 2, "goes to the same file"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.options);
    CAPTURE(one.program);
    PipedProgram program('"' + kRun + "\" " + one.options + " \"" + one.program + "\" blocks",
                         place.file("."));
    const PipedOutcome outcome = program.finish();
    CAPTURE(outcome.err);
    CHECK(outcome.code == one.code);
    CHECK(outcome.out == "");
    CHECK(outcome.err.starts_with("alloctap-run: "));
    CHECK(outcome.err.find(one.says) != std::string::npos);
    CHECK(outcome.err.find('\n') >= outcome.err.size() - 2);
  }
  CHECK_FALSE(fs::exists(place.file("a.json")));
}
