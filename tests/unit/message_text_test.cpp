#include "alloctap/message_text.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

using namespace alloctap;

TEST_CASE("texts, characters and integers are joined") {
  std::string text = "of ";
  append_text(text, 3, ' ', std::string("files"), ", ", std::int64_t{-4});
  CHECK(text == "of 3 files, -4");
  CHECK(join_text() == "");
  CHECK(join_text("", std::string()) == "");
  const char* const nothing = nullptr;
  CHECK(join_text("a", nothing, "b") == "ab");
}

TEST_CASE("numbers are written in hexadecimal digits") {
  CHECK(hex_text(0) == "0");
  CHECK(hex_text(0x1f) == "1f");
  CHECK(hex_text(UINT64_MAX) == "ffffffffffffffff");
}

TEST_CASE("what would not be seen is escaped") {
  CHECK(escaped_text("plain \xc3\xa4") == "plain \xc3\xa4");
  CHECK(escaped_text("a\nb\tc\rd\"e\\f'") == "a\\nb\\tc\\rd\\\"e\\\\f\\'");
  CHECK(escaped_text(std::string("\0\x01\x1f\x7f", 4)) == "\\x00\\x01\\x1f\\x7f");
}
