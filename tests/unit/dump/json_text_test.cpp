#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "alloctap/dump/dump_writer.hpp"

namespace {

using alloctap::copy_as_utf8;
using alloctap::utf8_length;

std::string cleaned(std::string_view text) {
  std::string out(3 * text.size(), '#');
  out.resize(copy_as_utf8(text, out.data(), out.size()));
  return out;
}

/// `code` in UTF-8, were it a character; surrogates too.
std::string encoded(unsigned code) {
  const auto tail = [](unsigned bits) { return static_cast<char>(0x80 | (bits & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), tail(code)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), tail(code >> 6), tail(code)};
  return {static_cast<char>(0xF0 | code >> 18), tail(code >> 12), tail(code >> 6), tail(code)};
}

std::string replacements(std::size_t count) {
  std::string text;
  while (count-- > 0) text += "\xEF\xBF\xBD";
  return text;
}

}  // namespace

TEST_CASE("every character of Unicode is well-formed, and a surrogate is none") {
  unsigned wrong = 0;
  for (unsigned code = 0; code <= 0x10FFFF; ++code) {
    const std::string text = encoded(code);
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (utf8_length(text) != (surrogate ? 0 : text.size())) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("what is overlong, out of range or broken off is no character") {
  const std::vector<std::string_view> broken{"\x80",
                                             "\xBF",
                                             "\xC0\x80",
                                             "\xC1\xBF",
                                             "\xC2",
                                             "\xC2\x7F",
                                             "\xC2\xC0",
                                             "\xE0\x80\x80",
                                             "\xE0\x9F\xBF",
                                             "\xE1\x80",
                                             "\xE1\x80\x7F",
                                             "\xE1\x7F\x80",
                                             "\xED\xA0\x80",
                                             "\xED\xBF\xBF",
                                             "\xEF\xBF",
                                             "\xF0\x80\x80\x80",
                                             "\xF0\x8F\xBF\xBF",
                                             "\xF1\x80\x80",
                                             "\xF1\x80\x80\xC0",
                                             "\xF4\x90\x80\x80",
                                             "\xF5\x80\x80\x80",
                                             "\xF7\xBF\xBF\xBF",
                                             "\xF8\x88\x80\x80",
                                             "\xFE",
                                             "\xFF"};
  for (const std::string_view text : broken) {
    CAPTURE(std::string(text));
    CHECK(utf8_length(text) == 0);
    CHECK(cleaned(text).starts_with(replacements(1)));
  }
}

TEST_CASE("text that is UTF-8 stays as it is") {
  for (const std::string_view text :
       {std::string_view(""), std::string_view("plain"), std::string_view("a\0b", 3),
        std::string_view("\x01\x1F\x7F\"\\"), std::string_view("gr\xC3\xBC\xC3\x9F"),
        std::string_view("\xE2\x82\xAC \xF0\x9F\x98\x80 \xF4\x8F\xBF\xBF")}) {
    CHECK(cleaned(text) == text);
  }
}

TEST_CASE("every byte that is not part of UTF-8 is replaced, and what follows is found again") {
  CHECK(cleaned("a\xFFz") == "a" + replacements(1) + "z");
  CHECK(cleaned("\xFF\xFE\xFD") == replacements(3));
  CHECK(cleaned("\xC3\xC3\xBC") == replacements(1) + "\xC3\xBC");
  CHECK(cleaned("\xF0\x9F\x98") == replacements(3));
  CHECK(cleaned("\xED\xA0\x80!") == replacements(3) + "!");
}

TEST_CASE("text is cut between characters where the room ends") {
  const std::string_view text = "a\xE2\x82\xAC\xFF";
  for (std::size_t room = 0; room <= 8; ++room) {
    CAPTURE(room);
    std::string out(room + 1, '#');
    const std::size_t length = copy_as_utf8(text, out.data(), room);
    CHECK(length == (room >= 7 ? 7 : room >= 4 ? 4 : room >= 1 ? 1 : 0));
    CHECK(out[room] == '#');
  }
}
