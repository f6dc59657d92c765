#include <doctest/doctest.h>

#include <string>

#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/testing/allocation_baseline.hpp"

namespace {

using alloctap::testing::Baseline;
using alloctap::testing::read_baseline;

Baseline two_stack_baseline() {
  Baseline baseline;
  baseline.stacks[{"game  engine::load(char const*)", "game  read_level()"}] = {12, 4096};
  baseline.stacks[{"a b.so  ?"}] = {1, 1000};
  return baseline;
}

constexpr std::string_view kTwoStacks =
    "alloctap baseline 1\n"
    "2 stacks, 13 allocations, 5096 bytes\n"
    "\n"
    "1 allocations, 1000 bytes\n"
    "  a b.so  ?\n"
    "\n"
    "12 allocations, 4096 bytes\n"
    "  game  engine::load(char const*)\n"
    "  game  read_level()\n"
    "\n"
    "end\n";

std::string baseline_written(const Baseline& baseline) {
  alloctap::MemoryOutput output;
  alloctap::DumpWriter writer(output);
  alloctap::testing::write_baseline(baseline, writer);
  REQUIRE(writer.finish().ok());
  return std::string(output.text());
}

/// `kTwoStacks` with the first `from` replaced.
std::string changed_text(std::string_view from, std::string_view to) {
  std::string text(kTwoStacks);
  return text.replace(text.find(from), from.size(), to);
}

std::string baseline_error(std::string_view text) {
  const auto read = read_baseline(text, "x.baseline");
  return read.ok() ? "" : std::string(read.status().message());
}

}  // namespace

TEST_CASE("a baseline is text in the order of its stacks, and reads as what was written") {
  CHECK(baseline_written(two_stack_baseline()) == kTwoStacks);
  const auto read = read_baseline(kTwoStacks, "");
  REQUIRE(read.ok());
  CHECK(*read == two_stack_baseline());
  const auto empty = read_baseline(baseline_written({}), "");
  REQUIRE(empty.ok());
  CHECK(empty->stacks.empty());
}

TEST_CASE("a baseline may have the line ends of Windows, and empty lines at its end") {
  std::string text;
  for (const char character : kTwoStacks)
    text += character == '\n' ? "\r\n" : std::string(1, character);
  const auto read = read_baseline(text + "\r\n", "");
  REQUIRE(read.ok());
  CHECK(*read == two_stack_baseline());
}

TEST_CASE("what is no whole baseline is refused with its line") {
  const struct {
    std::string text;
    std::string_view error;
  } cases[] = {
      {"", "x.baseline:1: this is no baseline"},
      {"hello\n", "x.baseline:1: this is no baseline"},
      {changed_text("line 1", "line 2"), "x.baseline:1: a baseline of version \"2\""},
      {changed_text("line 1", "line 10"), "x.baseline:1: a baseline of version \"10\""},
      {"alloctap baseline 1\n", "x.baseline:1: the file ends here"},
      {changed_text("2 stacks", "two stacks"), "x.baseline:2: expected \"N stacks"},
      {changed_text("12 alloc", "<<<<<<< HEAD\n12 alloc"),
       "x.baseline:7: a merge left its conflict"},
      {changed_text("12 alloc", "=======\n12 alloc"), "x.baseline:7: a merge left its conflict"},
      {changed_text("12 alloc", "-12 alloc"), "x.baseline:7: expected \"N allocations"},
      {changed_text("4096", "18446744073709551616"), "x.baseline:7: expected \"N allocations"},
      {changed_text("4096 bytes", "4096 bytes!"), "x.baseline:7: expected \"N allocations"},
      {changed_text("  a b.so  ?\n", ""), "x.baseline:4: a stack without frames"},
      {changed_text("  a b.so  ?\n", "  game  engine::load(char const*)\n  game  read_level()\n"),
       "x.baseline:8: this stack is in the file twice"},
      {changed_text("4096", "4097"),
       "x.baseline:2: the file has 2 stacks, 13 allocations, 5097 bytes"},
      {changed_text("\nend\n", ""), "x.baseline:9: the file ends before its line \"end\""},
      {changed_text("end\n", "end\n1 allocations, 1 bytes\n"),
       "x.baseline:12: there is text behind"},
  };
  for (const auto& expected : cases) {
    CAPTURE(expected.text);
    CHECK(baseline_error(expected.text).starts_with(expected.error));
  }
}

TEST_CASE("a baseline is refused wherever it was cut") {
  for (std::size_t length = 0; length + 1 < kTwoStacks.size(); ++length) {
    CAPTURE(length);
    CHECK(baseline_error(kTwoStacks.substr(0, length)) != "");
  }
}
