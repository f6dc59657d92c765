#include "alloctap/snapshot/suppressions.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"

// Found by whoever asks the program for suppressions.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "# what the tests expect\nleak:named_by_the_program\n";
}

namespace {

using alloctap::MisuseKind;
using alloctap::MisuseKinds;
using alloctap::Suppressions;
using alloctap::TextPool;
using alloctap::testing::StarvedArena;

std::string error_of(std::string_view text) {
  Suppressions suppressions;
  const alloctap::Status status = suppressions.add(text, "rules.txt");
  CHECK(suppressions.leak_rules().empty());
  CHECK(suppressions.misuse_rules().empty());
  CHECK(status.code() == alloctap::StatusCode::kInvalidArgument);
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
  const auto rules = suppressions.leak_rules();
  REQUIRE(rules.size() == 3);
  CHECK(rules[0].pattern == "engine::load");
  CHECK(rules[0].line == 3);
  CHECK(rules[0].source == "rules.txt");
  CHECK(rules[1].pattern == "^libfoo.so*$");
  CHECK(rules[1].line == 4);
  CHECK(rules[2].pattern == "with blanks inside");
  CHECK(rules[2].line == 6);
}

TEST_CASE(
    "rules are about leaks, about all faults or about one kind, and may be of an allow-list") {
  Suppressions suppressions;
  REQUIRE(suppressions
              .add("misuse:a\nonly-leak:b\ndouble_free:c\nonly-write_behind:d:e\nonly-misuse:f",
                   "rules.txt")
              .ok());
  REQUIRE(suppressions.leak_rules().size() == 1);
  CHECK(suppressions.leak_rules()[0].subject == "leak");
  CHECK(suppressions.leak_rules()[0].only);
  CHECK(suppressions.leak_rules()[0].pattern == "b");
  const auto rules = suppressions.misuse_rules();
  REQUIRE(rules.size() == 4);
  CHECK(rules[0].subject == "misuse");
  CHECK(rules[0].kinds == MisuseKinds::all());
  CHECK_FALSE(rules[0].only);
  CHECK(rules[1].subject == "double_free");
  CHECK(rules[1].kinds == MisuseKinds{MisuseKind::kDoubleFree});
  CHECK(rules[1].line == 3);
  CHECK(rules[2].subject == "write_behind");
  CHECK(rules[2].only);
  CHECK(rules[2].pattern == "d:e");
  CHECK(rules[3].only);
  CHECK(rules[3].kinds.contains(MisuseKind::kOverlappingCopy));
}

TEST_CASE("every kind of fault can be named") {
  for (std::size_t i = 0; i < alloctap::kMisuseKinds; ++i) {
    const auto kind = static_cast<MisuseKind>(i);
    const std::string key(alloctap::key_of(kind));
    CAPTURE(key);
    CHECK(alloctap::misuse_kind_of(key) == kind);
    Suppressions suppressions;
    REQUIRE(suppressions.add(key + ":a", "rules").ok());
    CHECK(suppressions.misuse_rules()[0].kinds == MisuseKinds{kind});
  }
  CHECK_FALSE(alloctap::misuse_kind_of("misuse").has_value());
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
  REQUIRE(suppressions.leak_rules().size() == 2);
  CHECK(suppressions.leak_rules()[0].pattern == "one");
  CHECK(suppressions.leak_rules()[0].source == "a");
  CHECK(suppressions.leak_rules()[1].source == "b");
  CHECK(suppressions.leak_rules()[1].line == 2);
}

TEST_CASE("what is no rule is named with its line, and nothing of its text is added") {
  CHECK(
      error_of("leak:a\n# b\nrace:foo\nleak:c") ==
      "rules.txt:3: \"race:foo\" is no suppression; write leak:PATTERN, misuse:PATTERN or one kind "
      "of misuse such as double_free:PATTERN, each with only- in front of it if nothing else is to "
      "be "
      "reported, or # in front of the line");
  CHECK(error_of("misuse:a\nleak:b\nonly-:c").starts_with("rules.txt:3: \"only-:c\" is no"));
  CHECK(error_of("only-double_fre:c").starts_with("rules.txt:1: \"only-double_fre:c\" is no"));
  CHECK(error_of("only-only-leak:c").starts_with("rules.txt:1:"));
  CHECK(error_of("misuse:").starts_with("rules.txt:1: \"misuse:\" is no"));
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
  REQUIRE(suppressions.leak_rules().size() == 1);
  CHECK(suppressions.leak_rules()[0].pattern == "one");
}

TEST_CASE("the program's own rules are those that LeakSanitizer would ask for") {
  Suppressions suppressions;
  REQUIRE(suppressions.add_defaults().ok());
  REQUIRE(suppressions.leak_rules().size() == 1);
  CHECK(suppressions.leak_rules()[0].pattern == "named_by_the_program");
  CHECK(suppressions.leak_rules()[0].source == "__lsan_default_suppressions");
  CHECK(suppressions.leak_rules()[0].line == 2);
}

TEST_CASE("without memory for the rules there is an error") {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "leak:" + std::to_string(i) + "\n";
  Suppressions suppressions;
  const StarvedArena starved;
  CHECK(suppressions.add(text, "a").code() == alloctap::StatusCode::kResourceExhausted);
  CHECK(suppressions.leak_rules().empty());
}
