// What reports of tracked programs say of functions, files, lines and modules that went.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/integration/support/file_text.hpp"
#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"

namespace {

using namespace alloctap::testing;
namespace fs = std::filesystem;

/// The frames of the one stack that allocated `bytes` in all, leaf first.
std::vector<Json> frames_of(const Dump& dump, std::size_t bytes) {
  std::vector<Json> frames;
  int found = 0;
  for (const Json& stack : dump.json().at("stacks")) {
    if (stack.at("allocated_bytes") != bytes) continue;
    ++found;
    for (const Json& index : stack.at("frames")) frames.push_back(dump.frame(index));
  }
  CAPTURE(bytes);
  CHECK(found == 1);
  return frames;
}

/// The frame of the function whose name has `part`.
Json frame_with(const std::vector<Json>& frames, const std::string& part) {
  for (const Json& frame : frames) {
    if (frame.at("function").is_null()) continue;
    if (frame.at("function").get<std::string>().find(part) != std::string::npos) return frame;
  }
  FAIL("no frame is in " << part);
  return {};
}

/// The line of a source file that has `text`.
std::uint32_t line_with(const std::string& file, const std::string& text) {
  std::ifstream source(ALLOCTAP_SOURCES "/tests/" + file);
  std::string line;
  for (std::uint32_t number = 1; std::getline(source, line); ++number) {
    if (line.find(text) != line.npos) return number;
  }
  FAIL(file << " has no line with " << text);
  return 0;
}

TrackedProgram reloading_program() {
  return TrackedProgram(
      {ALLOCTAP_PROGRAMS "reloads", ALLOCTAP_PLUGIN_FIRST, ALLOCTAP_PLUGIN_SECOND});
}

/// Where the system refuses the helper as it is started first.
Command among_end_signals(Command command) {
  command.arguments.insert(command.arguments.begin(), ALLOCTAP_PROGRAMS "needs_end_signals");
  return command;
}

}  // namespace

TEST_CASE("a plug-in that was built anew while it was closed shows both builds by name") {
  std::string hook;
  SUBCASE("interposed") { hook = "interpose"; }
  SUBCASE("in slots") { hook = "plt"; }
  SUBCASE("in the functions") { hook = "inline"; }
  SUBCASE("by the allocator's hooks") { hook = "malloc-hooks"; }
  const TrackedProgram program = reloading_program();
  const Outcome outcome = run(program.tracked({"--hook=" + hook}));
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.err == "");
  const Dump dump = program.dump();
  check_report(dump);
  const Json first = frame_with(frames_of(dump, 12345), "first_build::");
  const Json second = frame_with(frames_of(dump, 54321), "second_build::");
  CHECK(first.at("address") == second.at("address"));
  const std::uint32_t line = line_with("support/symbolized_plugin.cpp", "MARK call_back");
  for (const Json& frame : {first, second}) {
    CHECK(frame.at("line") == line);
    CHECK(frame.at("file").get<std::string>().ends_with("symbolized_plugin.cpp"));
    CHECK(dump.json().at("modules").at(frame.at("module").get<std::size_t>()).at("unloaded") ==
          true);
  }
}

TEST_CASE("what a plug-in allocates while it is closed was called by the program and the loader") {
  std::string hook;
  SUBCASE("interposed") { hook = "interpose"; }
  SUBCASE("in slots") { hook = "plt"; }
  SUBCASE("in the functions") { hook = "inline"; }
  const TrackedProgram program({ALLOCTAP_PROGRAMS "closes_plugin", ALLOCTAP_PLUGIN_AT_END});
  CHECK(run(program.tracked({"--hook=" + hook})).exit_code() == 0);
  const Dump dump = program.dump();
  check_report(dump);
  const std::vector<Json> frames = frames_of(dump, 54321);
  CHECK(frame_with(frames, "allocate_at_end").at("line").is_number());
  CHECK(frame_with(frames, "main").at("line").is_number());
  for (const Json& frame : frames) {
    if (frame.at("module").is_null()) continue;
    const Json& module = dump.json().at("modules").at(frame.at("module").get<std::size_t>());
    CHECK(module.at("path").get<std::string>().find("liballoctap-run") == std::string::npos);
  }
}

TEST_CASE("a report names functions, files and lines, and what was inlined") {
  const TrackedProgram program = reloading_program();
  CHECK(run(program.tracked_to("text=" + program.file("report"))).exit_code() == 0);
  const std::string report = file_text(program.file("report"));
  CHECK(report.find("(anonymous namespace)::allocate_in_first()   ") != report.npos);
  CHECK(report.find("programs/reloads.cpp:" +
                    std::to_string(line_with("integration/tracking/programs/reloads.cpp",
                                             "malloc(12345)"))) != report.npos);
  CHECK(report.find("call_through") != report.npos);
  CHECK(report.find("   (inlined)\n") != report.npos);
}

TEST_CASE("a program that removed itself keeps its names and its path") {
  const TrackedProgram program({"./removes_itself"});
  const std::string path = program.file("removes_itself");
  fs::copy_file(ALLOCTAP_PROGRAMS "removes_itself", path);
  const Outcome outcome = run(program.tracked());
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.err == "");
  CHECK_FALSE(fs::exists(path));
  const Dump dump = program.dump();
  check_report(dump);
  CHECK(frame_with(frames_of(dump, 12345), "allocate").at("file").is_string());
  CHECK(dump.json().at("program").at("executable") == path);
  CHECK(file_text(program.dump_path()).find("(deleted)") == std::string::npos);
}

TEST_CASE("without its helper a report has the names of functions, of what is loaded") {
  const TrackedProgram program = reloading_program();
  const fs::path here = program.file("alone");
  fs::create_directories(here / "bin");
  fs::create_directories(here / "lib/alloctap");
  fs::copy_file(ALLOCTAP_RUN_BINARY, here / "bin/alloctap-run");
  fs::copy_file(ALLOCTAP_PRELOAD_OBJECT, here / "lib/alloctap/liballoctap-run.so");
  Command command = program.tracked();
  command.arguments.front() = here / "bin/alloctap-run";
  const Outcome outcome = run(command);
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.err == "");
  const Dump dump = program.dump();
  check_report(dump);
  const std::vector<Json> frames = frames_of(dump, 12345);
  CHECK(frame_with(frames, "main").at("file").is_null());
  for (const Json& frame : frames) {
    if (frame.at("function").is_null()) continue;
    CHECK(frame.at("function").get<std::string>().find("_build::") == std::string::npos);
  }
}

TEST_CASE("the helper is a child like others where the system takes no other, and does not show") {
  const TrackedProgram program({ALLOCTAP_PROGRAMS "known_mix"});
  const Outcome outcome = run(among_end_signals(program.tracked()));
  CHECK(outcome.exit_code() == run(program.untracked()).exit_code());
  CHECK(outcome.err == "");
  const Dump dump = program.dump();
  check_report(dump);
  const bool has_files = std::ranges::any_of(dump.json().at("stacks"), [&](const Json& stack) {
    return std::ranges::any_of(stack.at("frames"), [&](const Json& index) {
      const Json file = dump.frame(index).at("file");
      return file.is_string() && file.get<std::string>().ends_with("known_mix.c");
    });
  });
  CHECK(has_files);
}

TEST_CASE("a program that asks for the ends of its processes hears of none, and gets fewer names") {
  const TrackedProgram program = reloading_program();
  const Outcome outcome = run(among_end_signals(program.tracked()));
  CHECK(outcome.exit_code() == 0);
  CHECK(outcome.err == "");
  const Dump dump = program.dump();
  check_report(dump);
  CHECK(frame_with(frames_of(dump, 12345), "main").at("file").is_null());
}
