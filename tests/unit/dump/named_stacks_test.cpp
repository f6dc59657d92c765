#include "alloctap/dump/named_stacks.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::SampleReport;

/// "function file:line", leaf first, '<' behind what was inlined.
std::string line_of(std::span<const NamedFrame> frames) {
  std::string text;
  for (const NamedFrame& frame : frames) {
    text += frame.function.empty() ? "?" : std::string(frame.function);
    if (!frame.file.empty())
      text += " " + std::string(frame.file) + ":" + std::to_string(frame.line);
    text += frame.inlined ? " < " : "; ";
  }
  return text;
}

}  // namespace

TEST_CASE("stacks are named in any order, with what was inlined, and those alone") {
  SampleReport sample;
  sample.names = {{SampleReport::kLoad, SampleReport::kParse, "open", "io.hpp", 7},
                  {SampleReport::kLoad, SampleReport::kParse, "load", "load.cpp", 12},
                  {SampleReport::kMain, SampleReport::kNameless, "main", "", 0}};
  const StackId deep = sample.snapshot.stacks[1].stack;
  const StackId gone = sample.snapshot.stacks[3].stack;
  const std::array wanted{gone, deep, gone, kUnknownStack};
  std::string text;
  {
    const Report report = sample.report();
    const auto named = NamedStacks::name(report, wanted);
    REQUIRE(named.ok());
    sample.names.clear();
    text = line_of(named->frames(deep));
    CHECK(named->frames(deep)[0].offset == SampleReport::kLoad + 0x10);
    CHECK(line_of(named->frames(gone)) == "?; ");
    CHECK(named->frames(kUnknownStack).empty());
    CHECK(named->frames(sample.snapshot.stacks[2].stack).empty());
  }
  CHECK(text == "open io.hpp:7 < load load.cpp:12; ?; main; ");
}

TEST_CASE("a module is called by its file, whatever the system's directories look like") {
  CHECK(NamedFrame{.module = "/usr/lib/libgame.so"}.module_name() == "libgame.so");
  CHECK(NamedFrame{.module = "C:\\game\\game.exe"}.module_name() == "game.exe");
  CHECK(NamedFrame{}.module_name().empty());
}

TEST_CASE("names for which there is no memory are refused") {
  const SampleReport sample;
  const std::array wanted{sample.snapshot.stacks[1].stack};
  const Report report = sample.report();
  alloctap::StatusCode code{};
  {
    const alloctap::testing::StarvedArena starved;
    code = NamedStacks::name(report, wanted).status().code();
  }
  CHECK(code == alloctap::StatusCode::kResourceExhausted);
}
