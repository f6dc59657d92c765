#include <doctest/doctest.h>

#include <array>
#include <fstream>
#include <string>

#include "alloctap/testing/case_leaks.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using alloctap::NamedFrame;
using alloctap::testing::ExpectedLeaks;

constexpr std::array<NamedFrame, 3> kLoaded{
    {{.function = "malloc", .module = "/lib/libc.so.6"},
     {.function = "load_fonts(int)", .module = "/opt/game", .file = "src/fonts.cpp", .line = 7},
     {.function = "main", .module = "/opt/game"}}};

bool expected_by(const std::string& rules) {
  ExpectedLeaks expected;
  REQUIRE(expected.add(rules, "test").ok());
  return expected.have(kLoaded);
}

}  // namespace

TEST_CASE("what a rule names is an expected leak, by function, file or module") {
  CHECK(expected_by("leak:^load_fonts("));
  CHECK(expected_by("leak:fonts.cpp"));
  CHECK(expected_by("leak:/opt/*game$"));
  CHECK_FALSE(expected_by("leak:^fonts"));
  CHECK_FALSE(expected_by("misuse:load_fonts"));
  CHECK_FALSE(expected_by(""));
  CHECK_FALSE(ExpectedLeaks().have(kLoaded));
}

TEST_CASE("with an allow-list all leaks are expected but those that it names") {
  CHECK(expected_by("only-leak:load_sounds"));
  CHECK_FALSE(expected_by("only-leak:load_sounds\nonly-leak:load_fonts"));
  CHECK(expected_by("only-leak:load_fonts\nleak:^main$"));
}

TEST_CASE("rules of leaks are read from a file, or there is a reason why not") {
  const alloctap::testing::TemporaryDirectory directory;
  const std::string path = directory.file("leaks.supp");
  ExpectedLeaks expected;
  const std::string missing(expected.add_file(path.c_str()).message());
  CHECK(missing.find("cannot read the suppressions " + path + ": ") == 0);
  std::ofstream(path) << "# known\nleak:load_fonts\n";
  REQUIRE(expected.add_file(path.c_str()).ok());
  CHECK(expected.have(kLoaded));
  std::ofstream(path) << "leak\n";
  const std::string wrong(expected.add_file(path.c_str()).message());
  CHECK(wrong.find(path + ":1: \"leak\" is no suppression") == 0);
}
