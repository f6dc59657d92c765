#include "alloctap/testing/case_leaks.hpp"

#include <doctest/doctest.h>

#include <array>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "alloctap/status.hpp"
#include "alloctap/testing/test_config.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

/// Each test has a tracker of its own, and no names.
template <class Test>
struct LeakingProgram {
  struct Config : TestConfig {
    using Hook = ManualHook<Test>;
    using Stack = ScriptedStack;
    using Symbolizer = FakeSymbolizer;
  };
  using Hook = typename Config::Hook;

  LeakingProgram() {
    FakeSymbolizer::know({});
    TestTracker::use<Tracker<Config>>();
    REQUIRE(leaks.start().ok());
  }

  void allocate(std::uintptr_t block, std::size_t bytes, std::span<const std::uintptr_t> stack) {
    ScriptedStack::play(stack);
    Hook::on_allocate(at(block), bytes);
  }

  /// Runs `body` as the case `name`: "BYTES in BLOCKS of PART; " for each stack that leaks.
  template <class Body>
  std::string run(const char* name, Body&& body, bool failed = false) {
    leaks.begin_case(name);
    body();
    const alloctap::Result<LeakedCase> leaked = leaks.end_case(failed);
    REQUIRE(leaked.ok());
    CHECK(leaked->name == name);
    std::string text;
    for (const LeakedStack& stack : leaked->stacks) {
      text += std::to_string(stack.bytes) + " in " + std::to_string(stack.blocks) + " of " +
              stack.part + "; ";
    }
    return text;
  }

  std::vector<std::string> suspects() {
    const auto names = leaks.end_first_run();
    REQUIRE(names.ok());
    return *names;
  }

  static constexpr std::array<std::string_view, 1> kScopes{"framework::"};

  CaseLeaks leaks{FrameworkFrames(kScopes)};
};

using Names = std::vector<std::string>;

constexpr std::array<std::uintptr_t, 2> kLeak{0x100, 0x900};
constexpr std::array<std::uintptr_t, 2> kCache{0x200, 0x900};
constexpr std::array<std::uintptr_t, 2> kOther{0x300, 0x900};

struct RepeatedTest;
struct PartsTest;
struct FailedTest;
struct NamedTest;

}  // namespace

TEST_CASE("a case leaks where both of its runs leave blocks of one stack") {
  LeakingProgram<RepeatedTest> program;
  program.allocate(0x10, 1, kLeak);
  std::uintptr_t next = 0x1000;
  std::uintptr_t table = 0;
  const auto free = [](std::uintptr_t block) {
    LeakingProgram<RepeatedTest>::Hook::on_free(at(block));
  };
  const auto leak = [&] {
    program.allocate(next += 0x10, 7, kLeak);
    program.allocate(next += 0x10, 7, kLeak);
  };
  const auto fill_once = [&] {
    if (!program.leaks.is_second_run()) program.allocate(next += 0x10, 50, kCache);
  };
  const auto grow = [&] {
    if (table != 0) free(table);
    program.allocate(table = next += 0x10, 100, kCache);
  };
  const auto tidy = [&] {
    program.allocate(next += 0x10, 7, kLeak);
    free(next);
  };
  const auto vary = [&] {
    program.allocate(next += 0x10, 9, program.leaks.is_second_run() ? kOther : kCache);
  };
  for (int run = 0; run < 2; ++run) {
    const bool again = program.leaks.is_second_run();
    CHECK(program.run("leaks", leak) == (again ? "14 in 2 of ; " : ""));
    CHECK(program.run("fills a cache", fill_once) == "");
    CHECK(program.run("grows a table", grow) == "");
    CHECK(program.run("varies", vary) == "");
    if (again) break;
    CHECK(program.run("is tidy", tidy) == "");
    CHECK(program.run("keeps what it may", [&] {
      const expected_to_stay registry;
      program.allocate(next += 0x10, 5, kLeak);
    }) == "");
    CHECK(program.suspects() == Names{"fills a cache", "grows a table", "leaks", "varies"});
  }
}

TEST_CASE("blocks belong to the part and the thread that allocated them, whoever runs then") {
  LeakingProgram<PartsTest> program;
  std::uintptr_t next = 0x1000;
  std::thread late;
  const auto leak_in_parts = [&] {
    program.leaks.begin_part("outer");
    program.leaks.begin_part("inner");
    program.allocate(next += 0x10, 3, kLeak);
    program.leaks.end_part();
    program.leaks.end_part();
    program.leaks.end_part();
    std::thread([&] { program.allocate(next += 0x10, 1000, kOther); }).join();
  };
  const std::string long_name(400, 'x');
  CHECK(program.run("parts", leak_in_parts) == "");
  CHECK(program.run(long_name.c_str(), [&] { program.allocate(next += 0x10, 8, kLeak); }) == "");
  // Alike as far as the names of tags go.
  CHECK(program.run((long_name + "y").c_str(), [] {}) == "");
  CHECK(program.run("", [&] { program.allocate(next += 0x10, 9, kLeak); }) == "");
  CHECK(program.suspects() == Names{"", "parts", long_name});
  CHECK(program.run("parts", leak_in_parts) == "1000 in 1 of ; 3 in 1 of outer/inner; ");
  CHECK(program.run(long_name.c_str(), [&] { program.allocate(next += 0x10, 8, kLeak); }) ==
        "8 in 1 of ; ");
}

TEST_CASE(
    "stacks are the same up to the framework; its allocations, and known leaks, are nobody's") {
  LeakingProgram<NamedTest> program;
  const std::array<FakeSymbolizer::Function, 4> functions{
      {{0x100, 0x200, "leak()", "", 0},
       {0x200, 0x300, "known", "", 0},
       {0x900, 0xA00, "framework::run()", "", 0},
       {0xA00, 0xB00, "framework::note()", "", 0}}};
  FakeSymbolizer::know(functions);
  // The second run is called from another place.
  static constexpr std::array<std::array<std::uintptr_t, 3>, 2> kLeaks{
      {{0x101, 0x901, 0x1001}, {0x101, 0x901, 0x1002}}};
  static constexpr std::array<std::uintptr_t, 3> kNote{0xA01, 0x101, 0x901};
  static constexpr std::array<std::uintptr_t, 3> kKnown{0x101, 0x201, 0x901};
  std::uintptr_t next = 0x1000;
  const auto leak = [&] {
    program.allocate(next += 0x10, 7, kLeaks[program.leaks.is_second_run() ? 1 : 0]);
    program.allocate(next += 0x10, 100, kNote);
  };
  const auto note = [&] { program.allocate(next += 0x10, 100, kNote); };
  const auto known = [&] { program.allocate(next += 0x10, 100, kKnown); };
  CHECK(program.run("leaks", leak) == "");
  CHECK(program.run("is noted", note) == "");
  CHECK(program.run("is known to leak", known) == "");
  REQUIRE(program.leaks.expected().add("leak:^known$", "test").ok());
  CHECK(program.suspects() == Names{"leaks"});
  CHECK(program.run("leaks", leak) == "7 in 1 of ; ");
}

TEST_CASE("a case that fails is not blamed, and without a tracker there is a reason") {
  LeakingProgram<FailedTest> program;
  CHECK(program.run("fails", [&] { program.allocate(0x10, 1, kLeak); }, true) == "");
  CHECK(program.run("fails later", [&] { program.allocate(0x20, 1, kLeak); }) == "");
  CHECK(program.suspects() == Names{"fails later"});
  CHECK(program.run("fails later", [&] { program.allocate(0x30, 1, kLeak); }, true) == "");
  CHECK(TestTracker::missing().message().find("run_doctest<Tracker>") != std::string::npos);
}

TEST_CASE("a leak is told in lines") {
  const LeakedCase leaked{
      .name = "parser",
      .stacks = {{.blocks = 2,
                  .bytes = 64,
                  .part = "",
                  .frames = {{.function = "parse()", .module = "", .file = "parse.cpp", .line = 12},
                             {.function = "", .module = "game", .file = "", .offset = 0xab0}}},
                 {.blocks = 1, .bytes = 1, .part = "a/b", .frames = {}}}};
  CHECK(to_text(leaked) ==
        "\"parser\" leaks 65 bytes in 3 blocks each time it runs\n"
        "  64 bytes in 2 blocks, allocated by\n"
        "    parse()   parse.cpp:12\n"
        "    ??   game+0xab0\n"
        "  1 byte in 1 block, allocated in \"a/b\" by\n"
        "    (stack unknown)\n");
}
