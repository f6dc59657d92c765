#include "alloctap/hook/module_selection.hpp"

#include <doctest/doctest.h>

#include "alloctap/status.hpp"

namespace {

using alloctap::ModuleSelection;

struct Selection : ModuleSelection {
  using ModuleSelection::ModuleSelection;
  ~Selection() { clear(); }
};

std::string error_of(const std::string& pattern) {
  Selection selection;
  const alloctap::Status status = selection.modules_matching(pattern);
  CHECK(status.code() == alloctap::StatusCode::kInvalidArgument);
  CHECK(selection.status() == status);
  return std::string(status.message());
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("without patterns a selection is everything, or nothing, as it was made") {
  CHECK(Selection().selects("/lib/a.so", ""));
  CHECK(Selection(true).selects("/lib/a.so", ""));
  CHECK_FALSE(Selection(false).selects("/lib/a.so", ""));
}

TEST_CASE("patterns add modules, and leaving out wins whatever the order") {
  Selection selection;
  REQUIRE(selection.modules_not_matching("gamedata").ok());
  REQUIRE(selection.modules_matching("libgame").ok());
  REQUIRE(selection.modules_matching("^/opt/.*\\.so$").ok());
  CHECK(selection.selects("/usr/libgame.so", ""));
  CHECK(selection.selects("/opt/x.so", ""));
  CHECK_FALSE(selection.selects("/opt/x.so.1", ""));
  CHECK_FALSE(selection.selects("/usr/libgamedata.so", ""));
  CHECK_FALSE(selection.selects("/usr/libc.so.6", ""));
}

TEST_CASE("a selection that only leaves out is everything else") {
  Selection selection;
  REQUIRE(selection.modules_not_matching("libc\\.so").ok());
  CHECK(selection.selects("/usr/libgame.so", ""));
  CHECK_FALSE(selection.selects("/usr/libc.so.6", ""));
  Selection opt_in(false);
  REQUIRE(opt_in.modules_not_matching("libc\\.so").ok());
  CHECK_FALSE(opt_in.selects("/usr/libgame.so", ""));
}

TEST_CASE("a module is known by the name that the loader was given too") {
  Selection selection;
  REQUIRE(selection.modules_matching("libz\\.so\\.1$").ok());
  CHECK(selection.selects("/usr/lib/libz.so.1.2.13", "/lib/libz.so.1"));
  CHECK_FALSE(selection.selects("/usr/lib/libz.so.1.2.13", ""));
}

TEST_CASE("a predicate chooses beside patterns") {
  Selection selection;
  selection.modules_where([](std::string_view path) { return path.ends_with(".plugin"); });
  CHECK(selection.selects("/a.plugin", ""));
  CHECK_FALSE(selection.selects("/a.so", ""));
  REQUIRE(selection.modules_matching("a\\.so").ok());
  CHECK(selection.selects("/a.so", ""));
  selection.clear();
  CHECK(selection.selects("/b", ""));
}

TEST_CASE("an error in a pattern tells where it is, and stays until the selection is cleared") {
  const std::string unclosed = error_of("lib(a|b");
  CHECK(holds(unclosed, "pattern \"lib(a|b\""));
  CHECK(holds(unclosed, "at character 4 (\"(a|b\")"));
  CHECK(holds(error_of("(a)(b"), "at character 4 (\"(b\")"));
  CHECK(holds(error_of("ab[c"), "at character 3 (\"[c\")"));
  CHECK(holds(error_of("a{2,1}"), "at character 2 "));
  Selection selection;
  CHECK_FALSE(selection.modules_not_matching("[").ok());
  CHECK(selection.modules_matching("a").ok());
  CHECK_FALSE(selection.status().ok());
  selection.clear();
  CHECK(selection.status().ok());
}
