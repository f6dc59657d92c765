#include "alloctap/snapshot/suppressions.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "tests/support/starved_arena.hpp"

// Found by whoever asks the program for suppressions.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "# what the tests expect\nleak:named_by_the_program\n";
}

namespace {

using alloctap::Suppressions;
using alloctap::TextPool;
using alloctap::testing::StarvedArena;

std::string error_of(std::string_view text) {
  Suppressions suppressions;
  const absl::Status status = suppressions.add(text, "rules.txt");
  CHECK(suppressions.rules().empty());
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

}  // namespace

TEST_CASE("a rule stands in each line, but for comments and empty ones") {
  Suppressions suppressions;
  REQUIRE(suppressions
              .add("# known leaks\n\nleak:engine::load\n  \t leak:^libfoo.so*$ \r\n#leak:no\n"
                   "leak:with blanks inside",
                   "rules.txt")
              .ok());
  const auto rules = suppressions.rules();
  REQUIRE(rules.size() == 3);
  CHECK(rules[0].pattern == "engine::load");
  CHECK(rules[0].line == 3);
  CHECK(rules[0].source == "rules.txt");
  CHECK(rules[1].pattern == "^libfoo.so*$");
  CHECK(rules[1].line == 4);
  CHECK(rules[2].pattern == "with blanks inside");
  CHECK(rules[2].line == 6);
}

TEST_CASE("texts are added one after the other, and copied") {
  Suppressions suppressions;
  {
    std::string first = "leak:one";
    std::string source = "a";
    REQUIRE(suppressions.add(first, source).ok());
    first.assign(first.size(), 'x');
    source.assign(1, 'x');
  }
  REQUIRE(suppressions.add("\nleak:two", "b").ok());
  REQUIRE(suppressions.add("", "c").ok());
  REQUIRE(suppressions.rules().size() == 2);
  CHECK(suppressions.rules()[0].pattern == "one");
  CHECK(suppressions.rules()[0].source == "a");
  CHECK(suppressions.rules()[1].source == "b");
  CHECK(suppressions.rules()[1].line == 2);
}

TEST_CASE("what is no rule is named with its line, and nothing of its text is added") {
  CHECK(
      error_of("leak:a\n# b\nrace:foo\nleak:c") ==
      "rules.txt:3: \"race:foo\" is no suppression of leaks; write leak:PATTERN, or # in front of "
      "it");
  CHECK(error_of("leak:").starts_with("rules.txt:1: \"leak:\" is no suppression"));
  CHECK(error_of("\n\n leak: \n").starts_with("rules.txt:3: \"leak:\" is no"));
  CHECK(error_of("engine::load").starts_with("rules.txt:1: \"engine::load\" is no"));
  CHECK(error_of("Leak:a").starts_with("rules.txt:1:"));
  CHECK(error_of("leak:" + std::string(TextPool::kLongest, 'x')).starts_with("rules.txt:1:"));
}

TEST_CASE("a message shows what was read in printable characters, and not too much of it") {
  CHECK(error_of("\x01\x1b").find("\"\\x01\\x1b\"") != std::string::npos);
  const std::string message = error_of(std::string(5000, 'x'));
  CHECK(message.size() < 300);
  CHECK(message.find("xxx...\"") != std::string::npos);
}

TEST_CASE("an earlier text stays when a later one is wrong") {
  Suppressions suppressions;
  REQUIRE(suppressions.add("leak:one", "a").ok());
  CHECK_FALSE(suppressions.add("leak:two\nthree", "b").ok());
  REQUIRE(suppressions.rules().size() == 1);
  CHECK(suppressions.rules()[0].pattern == "one");
}

TEST_CASE("the program's own rules are those that LeakSanitizer would ask for") {
  Suppressions suppressions;
  REQUIRE(suppressions.add_defaults().ok());
  REQUIRE(suppressions.rules().size() == 1);
  CHECK(suppressions.rules()[0].pattern == "named_by_the_program");
  CHECK(suppressions.rules()[0].source == "__lsan_default_suppressions");
  CHECK(suppressions.rules()[0].line == 2);
}

TEST_CASE("without memory for the rules there is an error") {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "leak:" + std::to_string(i) + "\n";
  Suppressions suppressions;
  const StarvedArena starved;
  CHECK(suppressions.add(text, "a").code() == absl::StatusCode::kResourceExhausted);
  CHECK(suppressions.rules().empty());
}
