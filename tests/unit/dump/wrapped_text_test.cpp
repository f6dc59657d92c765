#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/impl/outputs.hpp"

namespace {

using alloctap::WrappedText;

/// What stands behind `indent` characters.
std::string wrap(std::size_t indent, std::initializer_list<std::string_view> texts) {
  alloctap::MemoryOutput output;
  alloctap::DumpWriter out(output);
  WrappedText line(out, indent);
  for (const std::string_view text : texts) line.write(text);
  REQUIRE(out.finish().ok());
  return std::string(output.text());
}

}  // namespace

TEST_CASE("a text that fits stays in its line") {
  CHECK(wrap(10, {}).empty());
  CHECK(wrap(10, {"one two", "three"}) == "one two three");
  CHECK(wrap(10, {" one   two ", ""}) == "one two");
  CHECK(wrap(WrappedText::kWidth - 7, {"one two"}) == "one two");
}

TEST_CASE("a text goes on below its first word where the next would not fit") {
  CHECK(wrap(WrappedText::kWidth - 7, {"one tow three"}) ==
        "one tow\n" + std::string(WrappedText::kWidth - 7, ' ') + "three");
  CHECK(wrap(WrappedText::kWidth - 6, {"one two"}) ==
        "one\n" + std::string(WrappedText::kWidth - 6, ' ') + "two");
}

TEST_CASE("a word that is longer than a line has one of its own") {
  const std::string word(WrappedText::kWidth, 'x');
  CHECK(wrap(2, {word}) == word);
  CHECK(wrap(2, {"a", word, "b"}) == "a\n  " + word + "\n  b");
}
