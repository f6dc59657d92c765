#include <doctest/doctest.h>

#include <string>

#include "alloctap/runtime/text_bytes.hpp"

using alloctap::cut_text;

TEST_CASE("text that fits stays whole") {
  CHECK(cut_text("", 0).empty());
  CHECK(cut_text("name", 4) == "name");
  CHECK(cut_text("name", 100) == "name");
}

TEST_CASE("longer text is cut, and characters stay whole") {
  CHECK(cut_text("name", 3) == "nam");
  CHECK(cut_text("name", 0).empty());
  const std::string text = "a\xC3\xA9\xF0\x9F\x98\x80z";
  CHECK(cut_text(text, 1) == "a");
  CHECK(cut_text(text, 2) == "a");
  CHECK(cut_text(text, 3) == "a\xC3\xA9");
  for (std::size_t i = 3; i < 7; ++i) CHECK(cut_text(text, i) == "a\xC3\xA9");
  CHECK(cut_text(text, 7) == text.substr(0, 7));
}

TEST_CASE("bytes that are no UTF-8 are cut where they are") {
  const std::string text(10, '\xA9');
  CHECK(cut_text(text, 6).size() == 6);
}
