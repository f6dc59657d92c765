#include "alloctap/dump/dump_writer.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/piece_output.hpp"

using alloctap::DumpWriter;
using alloctap::testing::PieceOutput;
using alloctap::testing::StarvedArena;

TEST_CASE("texts, characters and numbers are written one behind the other") {
  PieceOutput output;
  DumpWriter writer(output);
  writer << "text " << std::string_view("view ") << 'c' << ' ' << 0 << ' ' << 42U << ' ' << -7
         << ' ' << INT64_MIN << ' ' << UINT64_MAX;
  CHECK(writer.finish().ok());
  CHECK(output.text() == "text view c 0 42 -7 -9223372036854775808 18446744073709551615");
}

TEST_CASE("hexadecimal numbers are lower-case behind their mark") {
  PieceOutput output;
  DumpWriter writer(output);
  writer.hex(0) << ' ';
  writer.hex(0xABCDEF0123) << ' ';
  writer.hex(UINT64_MAX);
  CHECK(writer.finish().ok());
  CHECK(output.text() == "0x0 0xabcdef0123 0xffffffffffffffff");
}

TEST_CASE("a text is moved to the right of its column, and a wider one is whole") {
  PieceOutput output;
  DumpWriter writer(output);
  writer.right("abc", 5).right("abc", 3).right("abc", 0).right("", 2) << '|';
  CHECK(writer.finish().ok());
  CHECK(output.text() == "  abcabcabc  |");
}

TEST_CASE("much text reaches the output in few pieces, whole") {
  PieceOutput output;
  DumpWriter writer(output);
  std::string expected;
  for (int i = 0; i < 100'000; ++i) {
    writer << i << ' ';
    expected += std::to_string(i) + ' ';
  }
  const std::string large(300'000, 'x');
  writer << large;
  expected += large;
  CHECK(writer.finish().ok());
  CHECK(output.text() == expected);
  CHECK(output.pieces.size() < 20);
}

TEST_CASE("an output is bothered only when there is text") {
  PieceOutput output;
  DumpWriter writer(output);
  writer << "";
  CHECK(writer.finish().ok());
  CHECK(writer.finish().ok());
  CHECK(output.writes == 0);
  CHECK(output.commits == 0);
}

TEST_CASE("after an error everything is swallowed, and the error told") {
  PieceOutput output{.pieces_accepted = 1};
  DumpWriter writer(output);
  const std::string large(100'000, 'x');
  for (int i = 0; i < 5; ++i) writer << large;
  CHECK_FALSE(writer.ok());
  CHECK(output.writes == 2);
  CHECK(writer.finish() == alloctap::Status::data_loss("full"));
  CHECK(writer.finish() == alloctap::Status::data_loss("full"));
  CHECK(output.writes == 2);
}

TEST_CASE("a policy may give up, and its first reason is told") {
  PieceOutput output;
  DumpWriter writer(output);
  writer << "begun";
  CHECK(writer.ok());
  writer.fail("no more");
  writer.fail("again");
  CHECK_FALSE(writer.ok());
  writer << "after";
  CHECK(writer.finish() == alloctap::Status::resource_exhausted("no more"));
  CHECK(output.writes == 0);
}

TEST_CASE("without memory for its buffer a writer writes nothing and says why") {
  PieceOutput output;
  alloctap::Status status;
  {
    const StarvedArena starved;
    DumpWriter writer(output);
    writer << "text" << 5;
    status = writer.finish();
  }
  CHECK(status.code() == alloctap::StatusCode::kResourceExhausted);
  CHECK(output.writes == 0);
}
