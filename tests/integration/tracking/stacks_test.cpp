// Every stack of a program whose functions are known reads main -> ... -> leaf.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/integration/support/report_checks.hpp"
#include "tests/integration/support/tracked_program.hpp"
#include "tests/integration/support/unchanged_program.hpp"

namespace {

using namespace alloctap::testing;
using Texts = std::vector<std::string>;

const std::string kWithout = ALLOCTAP_PROGRAMS "stacks";
const std::string kWith = ALLOCTAP_PROGRAMS "stacks_with_frame_pointers";

Dump report_of_program(const std::string& path, const Texts& options = {}) {
  const TrackedProgram program({path});
  const Outcome outcome = run(program.tracked(options));
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "");
  Dump dump = program.dump();
  check_report(dump);
  return dump;
}

/// GCC puts the part of a function that is seldom reached elsewhere, under a name of its own.
std::string whole_function(const std::string& name) { return name.substr(0, name.find(".cold")); }

/// The functions that led to the one allocation of `bytes`, leaf first.
Texts stack_of(const Dump& dump, std::size_t bytes) {
  Texts functions;
  int found = 0;
  for (const Json& stack : dump.json().at("stacks")) {
    if (stack.at("allocated_bytes") != bytes) continue;
    ++found;
    functions = dump.functions(stack);
  }
  CAPTURE(bytes);
  CHECK(found == 1);
  std::transform(functions.begin(), functions.end(), functions.begin(), whole_function);
  return functions;
}

/// From the leaf to main.
Texts up_to_main(const Texts& functions) {
  const auto main = std::find(functions.begin(), functions.end(), "main");
  REQUIRE(main != functions.end());
  return {functions.begin(), main + 1};
}

Texts first(const Texts& functions, std::ptrdiff_t count) {
  REQUIRE(static_cast<std::ptrdiff_t>(functions.size()) >= count);
  return {functions.begin(), functions.begin() + count};
}

std::string file_of_outermost(const Dump& dump, std::size_t bytes) {
  for (const Json& stack : dump.json().at("stacks")) {
    if (stack.at("allocated_bytes") != bytes) continue;
    const Json& module = dump.frame(stack.at("frames").back()).at("module");
    const std::string path = dump.json().at("modules").at(module.get<std::size_t>()).at("path");
    return path.substr(path.rfind('/') + 1);
  }
  return "";
}

void check_plain_calls(const Dump& dump) {
  CHECK(up_to_main(stack_of(dump, 1001)) ==
        Texts{"leaf", "inner", "middle", "large_frame", "outer", "main"});
  CHECK(up_to_main(stack_of(dump, 1006)) == Texts{"leaf", "thrower", "catcher", "main"});
  CHECK(up_to_main(stack_of(dump, 1007)) == Texts{"leaf", "catcher", "main"});
  CHECK(up_to_main(stack_of(dump, 1008)) == Texts{"main"});
  CHECK(up_to_main(stack_of(dump, 1009)) == Texts{"main"});
  CHECK(first(stack_of(dump, 1004), 6) ==
        Texts{"leaf", "inner", "middle", "large_frame", "outer", "thread_body"});
}

}  // namespace

TEST_CASE("stacks of a program without frame pointers are whole") {
  const Dump dump = report_of_program(kWithout, {"--max-frames=400"});
  CHECK(dump.account("failed_unwinds") == 0);
  CHECK(dump.account("truncated_stacks") == 0);
  check_plain_calls(dump);
  for (const Json& stack : dump.json().at("stacks")) {
    const Texts functions = dump.functions(stack);
    const auto main = std::find(functions.begin(), functions.end(), "main");
    if (main == functions.end()) continue;
    CHECK(functions.back() == "_start");
    CHECK(functions.end() - main == 4);
  }
}

TEST_CASE("a thread's stack ends where the C library starts the thread") {
  const Dump dump = report_of_program(kWithout);
  CHECK(stack_of(dump, 1004).size() == 9);
  CHECK(file_of_outermost(dump, 1004) == "libc.so.6");
}

TEST_CASE("a stack passes through functions of the C library") {
  const Texts stack = up_to_main(stack_of(report_of_program(kWithout), 1003));
  CHECK(first(stack, 2) == Texts{"leaf", "compare"});
  CHECK(stack[stack.size() - 2] == "sort");
  CHECK(stack.size() > 4);
}

TEST_CASE("a stack passes through the frame of a signal") {
  const Texts stack = up_to_main(stack_of(report_of_program(kWithout), 1005));
  CHECK(first(stack, 2) == Texts{"leaf", "handler"});
  CHECK(stack[stack.size() - 2] == "interrupted");
}

TEST_CASE("what the C++ library allocates to throw belongs to the function that throws") {
  const Dump dump = report_of_program(kWithout);
  const auto thrown = dump.stacks_through("__cxa_allocate_exception");
  REQUIRE(thrown.size() == 1);
  Texts functions = dump.functions(thrown.front());
  std::transform(functions.begin(), functions.end(), functions.begin(), whole_function);
  CHECK(up_to_main(functions) == Texts{"__cxa_allocate_exception", "thrower", "catcher", "main"});
  CHECK(thrown.front().at("live_allocations") == 0);
}

TEST_CASE("a recursion that is deeper than the limit is cut and counted") {
  const Dump dump = report_of_program(kWithout);
  CHECK(dump.account("truncated_stacks") == 1);
  CHECK(dump.account("failed_unwinds") == 0);
  const Texts stack = stack_of(dump, 1002);
  CHECK(stack.size() == 256);
  CHECK(stack.back() == "recurse");
  const Texts whole = up_to_main(stack_of(report_of_program(kWithout, {"--max-frames=400"}), 1002));
  CHECK(whole.size() == 302);
  CHECK(std::count(whole.begin(), whole.end(), "recurse") == 300);
}

TEST_CASE("--max-frames cuts every stack to that many frames and counts those that it cut") {
  const Dump dump = report_of_program(kWithout, {"--max-frames=3"});
  CHECK(dump.json().at("backend").at("max_frames") == 3);
  // Of both threads: that is where they meet.
  CHECK(stack_of(dump, 1001 + 1004) == Texts{"leaf", "inner", "middle"});
  std::uint64_t longest = 0;
  std::uint64_t cut = 0;
  for (const Json& stack : dump.json().at("stacks")) {
    longest = std::max<std::uint64_t>(longest, stack.at("frames").size());
    if (dump.functions(stack).back() != "_start")
      cut += stack.at("allocations").get<std::uint64_t>();
  }
  CHECK(longest == 3);
  CHECK(dump.account("truncated_stacks") == cut);
}

TEST_CASE("stacks of a program with frame pointers can be had by following them") {
  const Dump dump = report_of_program(kWith, {"--stack=frame-pointer", "--max-frames=400"});
  CHECK(dump.json().at("backend").at("stack") == "frame-pointer");
  check_plain_calls(dump);
  const Texts deep = up_to_main(stack_of(dump, 1002));
  CHECK(std::count(deep.begin(), deep.end(), "recurse") == 300);
}

TEST_CASE("following frame pointers where there are none does no harm") {
  const Dump dump = report_of_program(kWithout, {"--stack=frame-pointer"});
  CHECK_FALSE(dump.stacks_through("leaf").empty());
  CHECK(dump.usage() == report_of_program(kWithout).usage());
}

TEST_CASE("--stack=none keeps the caller alone") {
  const Dump dump = report_of_program(kWithout, {"--stack=none"});
  CHECK(dump.json().at("backend").at("stack") == "none");
  for (const Json& stack : dump.json().at("stacks")) CHECK(stack.at("frames").size() == 1);
  CHECK(dump.stacks_through("leaf").size() == 1);
  CHECK(dump.usage() == report_of_program(kWithout).usage());
}

TEST_CASE("a stack passes code without tables by its frame pointers, and says so") {
  for (const char* place : {"main", "thread", "fiber"}) {
    CAPTURE(place);
    const TrackedProgram program({ALLOCTAP_PROGRAMS "code_without_tables", "frames", place});
    const Dump dump = report_of_unchanged(program);
    const Texts stack = stack_of(dump, 100'000);
    REQUIRE(stack.size() > 6);
    CHECK(stack[0] == "allocate_below");
    CHECK(stack[2] == "call_with_tables");
    CHECK(stack[4] == "call_code");
    CHECK(stack[5] == "allocate_often");
    CHECK(dump.account("frame_pointer_unwinds") == 100);
    // What a fiber of ucontext begins in has no row.
    CHECK(dump.account("failed_unwinds") == (place == std::string("fiber") ? 100 : 0));
  }
}

TEST_CASE("a stack ends in code without tables and frame pointers, and says so") {
  for (const char* place : {"main", "thread", "fiber"}) {
    CAPTURE(place);
    const TrackedProgram program({ALLOCTAP_PROGRAMS "code_without_tables", "no-frames", place});
    const Dump dump = report_of_unchanged(program);
    const Texts stack = stack_of(dump, 100'000);
    CHECK(stack.size() == 2);
    CHECK(stack[0] == "allocate_below");
    CHECK(dump.account("frame_pointer_unwinds") == 0);
    CHECK(dump.account("failed_unwinds") == 100);
  }
}

TEST_CASE("stacks of a program without tables are whole by its frame pointers") {
  const TrackedProgram program({ALLOCTAP_PROGRAMS "without_tables"});
  const Dump dump = report_of_unchanged(program);
  const Texts stack = up_to_main(stack_of(dump, 1001));
  CHECK(first(stack, 3) == Texts{"leaf", "inner", "compare"});
  CHECK(stack[stack.size() - 2] == "outer");
  // The C library's functions on the way have tables.
  CHECK(stack.size() > 5);
  CHECK(dump.account("failed_unwinds") == 0);
  CHECK(dump.account("frame_pointer_unwinds") == 1);
}
