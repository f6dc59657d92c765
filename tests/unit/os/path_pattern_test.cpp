#include "alloctap/os/path_pattern.hpp"

#include <doctest/doctest.h>

#include <utility>

using alloctap::os::PathPattern;
using alloctap::os::PatternError;

TEST_CASE("a pattern is a POSIX extended regular expression on any part of a text") {
  PatternError error;
  const PathPattern pattern("/lib(c|m)\\.so(\\.[0-9]+)?$", error);
  CHECK(error.text.empty());
  CHECK(pattern.matches("/usr/lib/libm.so.6"));
  CHECK(pattern.matches("/libc.so"));
  CHECK_FALSE(pattern.matches("/usr/lib/libm.so.6.old"));
  CHECK_FALSE(pattern.matches("/usr/lib/libmath.so"));
  CHECK_FALSE(pattern.matches(""));
}

TEST_CASE("an empty pattern matches everything") {
  PatternError error;
  const PathPattern pattern("", error);
  CHECK(error.text.empty());
  CHECK(pattern.matches(""));
  CHECK(pattern.matches("anything"));
}

TEST_CASE("an error is told in words and by its place, and matches nothing") {
  PatternError error;
  const PathPattern open_bracket("ab[c", error);
  CHECK_FALSE(error.text.empty());
  CHECK(error.position == 2);
  CHECK_FALSE(open_bracket.matches("ab[c"));
  CHECK_FALSE(open_bracket.matches(""));
  const PathPattern open_group("(x)(y", error);
  CHECK(error.position == 3);
  const PathPattern nothing_to_repeat("*{1}{2", error);
  CHECK_FALSE(error.text.empty());
}

TEST_CASE("the error of a pattern that was wrong does not stay for one that is right") {
  PatternError error;
  const PathPattern wrong("(", error);
  REQUIRE_FALSE(error.text.empty());
  CHECK(error.position == 0);
  const PathPattern right("(a)", error);
  CHECK(error.text.empty());
}

TEST_CASE("a pattern goes on to match where it was moved to") {
  PatternError error;
  PathPattern pattern("^a+$", error);
  PathPattern moved(std::move(pattern));
  CHECK(moved.matches("aaa"));
  PathPattern other("b", error);
  other = std::move(moved);
  CHECK(other.matches("a"));
  CHECK_FALSE(other.matches("b"));
}
