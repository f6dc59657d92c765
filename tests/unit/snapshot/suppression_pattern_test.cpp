#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "alloctap/snapshot/suppressions.hpp"

using alloctap::matches_pattern;

TEST_CASE("a plain pattern is found anywhere") {
  CHECK(matches_pattern("load", "load"));
  CHECK(matches_pattern("load", "engine::load_level(int)"));
  CHECK_FALSE(matches_pattern("load", "engine::lod"));
  CHECK_FALSE(matches_pattern("Load", "load"));
}

TEST_CASE("anchors tie a pattern to the start or the end") {
  CHECK(matches_pattern("^main", "main_loop"));
  CHECK_FALSE(matches_pattern("^main", "game_main"));
  CHECK(matches_pattern("main$", "game_main"));
  CHECK_FALSE(matches_pattern("main$", "main_loop"));
  CHECK(matches_pattern("^main$", "main"));
  CHECK_FALSE(matches_pattern("^main$", "main2"));
  CHECK_FALSE(matches_pattern("^main$", "amain"));
  CHECK(matches_pattern("b$", "bab"));
}

TEST_CASE("a star stands for any characters") {
  CHECK(matches_pattern("^eng*load$", "engine::load"));
  CHECK(matches_pattern("^eng*load$", "engload"));
  CHECK_FALSE(matches_pattern("^eng*load$", "engine::loader"));
  CHECK(matches_pattern("eng*::*d", "my engine::load"));
  CHECK_FALSE(matches_pattern("load*eng", "engine::load"));
  CHECK(matches_pattern("^*load", "engine::load"));
  CHECK(matches_pattern("load*$", "engine::load"));
  CHECK(matches_pattern("*", "x"));
  CHECK(matches_pattern("a**b", "ab"));
}

TEST_CASE("pieces may not overlap") {
  CHECK_FALSE(matches_pattern("^aba*aba$", "aba"));
  CHECK_FALSE(matches_pattern("^aba*aba$", "ababa"));
  CHECK(matches_pattern("^aba*aba$", "abaaba"));
  CHECK(matches_pattern("^a*b*ab$", "abbab"));
}

TEST_CASE("an anchor elsewhere stands for itself") {
  CHECK(matches_pattern("a^b", "xa^by"));
  CHECK(matches_pattern("a$b", "xa$by"));
  CHECK_FALSE(matches_pattern("a$b", "ab"));
}

TEST_CASE("nothing is found in an empty text") {
  for (const char* pattern : {"*", "^$", "$", "^", "a"}) {
    CAPTURE(pattern);
    CHECK_FALSE(matches_pattern(pattern, ""));
  }
}

namespace {

/// The same by trying everything: `pattern` without anchors against the whole of `text`.
bool matches_whole(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] != '*') {
    return !text.empty() && pattern[0] == text[0] &&
           matches_whole(pattern.substr(1), text.substr(1));
  }
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (matches_whole(pattern.substr(1), text.substr(i))) return true;
  }
  return false;
}

std::string word(unsigned number, std::string_view letters, unsigned length) {
  std::string text;
  for (unsigned i = 0; i < length; ++i) {
    text += letters[number % letters.size()];
    number /= static_cast<unsigned>(letters.size());
  }
  return text;
}

}  // namespace

TEST_CASE("all short patterns match what they say in all short texts") {
  for (unsigned p = 0; p < 81; ++p) {
    const std::string pattern = word(p, "ab*", 4);
    for (unsigned t = 0; t < 32; ++t) {
      const std::string text = word(t, "ab", 5);
      CAPTURE(pattern);
      CAPTURE(text);
      CHECK(matches_pattern("^" + pattern + "$", text) == matches_whole(pattern, text));
      CHECK(matches_pattern("^" + pattern, text) == matches_whole(pattern + "*", text));
      CHECK(matches_pattern(pattern + "$", text) == matches_whole("*" + pattern, text));
      CHECK(matches_pattern(pattern, text) == matches_whole("*" + pattern + "*", text));
    }
  }
}
