#include <doctest/doctest.h>

#include <string>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/impl/outputs.hpp"

namespace {

std::string printable(std::string_view text) {
  alloctap::MemoryOutput output;
  alloctap::DumpWriter writer(output);
  writer << alloctap::PrintableText(text);
  REQUIRE(writer.finish().ok());
  return std::string(output.text());
}

}  // namespace

TEST_CASE("what can be printed stays, with backslashes and quotes") {
  for (const char* text : {"", "operator new(unsigned long)", "C:\\game \"x\"", "\xC3\xA9t\xC3\xA9",
                           "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    CHECK(printable(text) == text);
  }
}

TEST_CASE("control characters are escaped, also those of two bytes") {
  CHECK(printable("a\nb\tc\rd") == "a\\nb\\tc\\rd");
  CHECK(printable("\x1b[31m\x7f") == "\\x1b[31m\\x7f");
  CHECK(printable(std::string_view("\0x", 2)) == "\\x00x");
  CHECK(printable("\xC2\x9B") == "\\xc2\\x9b");
  CHECK(printable("\xC2\xA0") == "\xC2\xA0");
}

TEST_CASE("bytes that are no UTF-8 are escaped") {
  CHECK(printable("a\xFF") == "a\\xff");
  CHECK(printable("\xC3") == "\\xc3");
  CHECK(printable("\xC0\x80") == "\\xc0\\x80");
}
