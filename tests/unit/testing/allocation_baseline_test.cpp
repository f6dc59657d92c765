#include "alloctap/testing/allocation_baseline.hpp"

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/status.hpp"
#include "alloctap/testing/test_framework.hpp"
#include "tests/support/naming_tracker.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

/// A test with a directory of its own for its baselines.
struct BaselineTest {
  BaselineTest() { NamingTracker::sample = &sample; }

  BaselineResult check(std::string_view name, BaselineUpdate update = BaselineUpdate::kNever) {
    const auto counter = [this](auto& work) -> alloctap::Result<std::vector<CountedStack>> {
      for (int i = 0; i < runs; ++i) work();
      return counts;
    };
    return allocation_baseline<NamingTracker>(
        name, [this] { ++calls; },
        {.directory = directory.file("deep/er"),
         .update = update,
         .without_library = without_library},
        counter);
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return directory.file("deep/er/" + name + ".baseline");
  }

  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  SampleReport sample;
  StackId deep = sample.snapshot.stacks[1].stack;
  std::vector<CountedStack> counts{{deep, 3, 300}};
  TemporaryDirectory directory;
  bool without_library = false;
  int runs = 1;
  int calls = 0;
};

bool message_has(const BaselineResult& result, std::string_view text) {
  return result.message().find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a baseline that is missing fails, is made where that is asked for, and passes then") {
  BaselineTest test;
  const BaselineResult missing = test.check("load level");
  CHECK_FALSE(missing);
  CHECK(message_has(missing, "ALLOCTAP_UPDATE_BASELINES=1"));
  CHECK_FALSE(std::filesystem::exists(test.directory.file("deep")));
  const BaselineResult made = test.check("load level", BaselineUpdate::kAlways);
  CHECK(made);
  CHECK(message_has(made, " was written"));
  CHECK(test.text("load level") ==
        "alloctap baseline 1\n1 stacks, 3 allocations, 300 bytes\n\n"
        "3 allocations, 300 bytes\n"
        "  ?  engine::load(char const*)\n  ?  engine::parse\n  ?  main\n\nend\n");
  CHECK(test.check("load level"));
  CHECK(message_has(test.check("load level", BaselineUpdate::kAlways), " is as measured"));
  CHECK(test.calls == 4);
}

// Run by baselines_by_environment.sh alone.
TEST_CASE("a baseline is where the environment says" * doctest::skip()) {
  BaselineTest test;
  const auto counter = [&](auto& work) -> alloctap::Result<std::vector<CountedStack>> {
    work();
    return test.counts;
  };
  const BaselineResult result =
      allocation_baseline<NamingTracker>("by environment", [] {}, {}, counter);
  INFO(result);
  CHECK(result);
}

TEST_CASE("a changed stack fails with what changed, and leaves the file alone") {
  BaselineTest test;
  REQUIRE(test.check("x", BaselineUpdate::kAlways));
  const std::string before = test.text("x");
  test.counts[0].allocations = 4;
  const BaselineResult result = test.check("x");
  CHECK_FALSE(result);
  std::ostringstream shown;
  shown << result;
  CHECK(shown.str().find("changed: 3 -> 4 allocations (+1), 300 bytes\n    ?  engine::load") !=
        std::string::npos);
  CHECK(result.comparison().changes.size() == 1);
  CHECK(test.text("x") == before);
  CHECK(message_has(test.check("x", BaselineUpdate::kAlways), "3 -> 4 allocations"));
  CHECK(test.check("x"));
}

TEST_CASE("a file that is no baseline fails, and is measured again where that is asked for") {
  BaselineTest test;
  REQUIRE(test.check("x", BaselineUpdate::kAlways));
  std::ofstream(test.path("x")) << "alloctap baseline 9\n";
  const BaselineResult result = test.check("x");
  CHECK_FALSE(result);
  CHECK(message_has(result, "x.baseline:1: a baseline of version \"9\""));
  CHECK(test.check("x", BaselineUpdate::kAlways));
  CHECK(test.check("x"));
}

TEST_CASE("names that are no files, places that are none, and counters that fail are told") {
  BaselineTest test;
  for (const std::string& name :
       {std::string(), std::string("../x"), std::string("a\\b"), std::string("a:b"),
        std::string(".x"), std::string("x "), std::string("x\n"), std::string(201, 'x')}) {
    CHECK(
        message_has(test.check(name, BaselineUpdate::kAlways), "cannot be the name of a baseline"));
  }
  std::ofstream(test.directory.file("deep")) << "a file, no directory";
  CHECK(message_has(test.check("x", BaselineUpdate::kAlways), "cannot make the directory"));
  CHECK_FALSE(test.check("x"));
  NamingTracker::sample = nullptr;
  CHECK(message_has(test.check("x"), "no memory for names"));
  test.runs = 2;
  CHECK(message_has(test.check("x"), "has to run the function once"));
}

TEST_CASE("frames outside of the measured function are left out") {
  const NamedFrame inner{.function = "inner", .address = 7};
  const NamedFrame inlined{.function = "lambda", .inlined = true, .address = 6};
  const NamedFrame measuring{.function = "MeasuredCallable", .address = 6};
  const NamedFrame inlined_caller{.function = "counter", .inlined = true, .address = 5};
  const NamedFrame caller{.function = "baseline", .address = 5};
  const NamedFrame main{.function = "main", .address = 4};
  const std::vector<NamedFrame> whole{inner, inlined, measuring, inlined_caller, caller, main};
  CHECK(frames_inside(whole, 5).size() == 2);
  CHECK(frames_inside(whole, 99).size() == whole.size());
  CHECK(frames_inside(whole, 0).size() == whole.size());
  CHECK(frames_inside({}, 5).empty());
  CHECK(frames_inside({whole.data() + 2, 4}, 5).empty());
  CHECK(frame_text({.function = "f\n(int)", .module = "/lib/m.so"}) == "m.so  f?(int)");
}

TEST_CASE("stacks that read the same are one, and those without frames have a line") {
  BaselineTest test;
  test.sample.names = {{0x1000, 0x2000, "f(int)", "", 0}};
  const StackId one = test.sample.intern({0x1011});
  const StackId other = test.sample.intern({0x1055});
  test.counts = {{one, 1, 10}, {other, 2, 20}, {kUnknownStack, 4, 40}};
  REQUIRE(test.check("x", BaselineUpdate::kAlways));
  CHECK(test.text("x").find("\n\n4 allocations, 40 bytes\n  (no stack)\n\n3 allocations, 30 bytes\n"
                            "  ?  f(int)\n\nend\n") != std::string::npos);
}

TEST_CASE("what is inside of the standard library may be left out") {
  BaselineTest test;
  test.sample.names = {{0x1000, 0x2000, "std::allocator<int>::allocate", "", 0},
                       {0x2000, 0x3000, "std::vector<int>::resize", "", 0},
                       {0x3000, 0x4000, "load(int)", "", 0}};
  test.counts = {{test.sample.intern({0x1011, 0x2011, 0x3011}), 1, 10}};
  test.without_library = true;
  REQUIRE(test.check("x", BaselineUpdate::kAlways));
  CHECK(test.text("x").find(" 10 bytes\n  ?  std::vector<int>::resize\n  ?  load(int)\n") !=
        std::string::npos);
  test.without_library = false;
  CHECK(message_has(test.check("x"),
                    "    ?  std::allocator<int>::allocate\n    ?  std::vector<int>::resize\n"));
}

TEST_CASE("what the test framework allocates is nobody's") {
  static constexpr std::array<std::string_view, 1> kScopes{"engine::"};
  static constexpr TestFramework kFramework{.scopes = kScopes};
  static constexpr TestFramework kNone{.scopes = {}};
  BaselineTest test;
  TestFramework::use(kFramework);
  const BaselineResult result = test.check("x", BaselineUpdate::kAlways);
  TestFramework::use(kNone);
  CHECK(message_has(result, "total: 0 allocations, 0 bytes"));
}
