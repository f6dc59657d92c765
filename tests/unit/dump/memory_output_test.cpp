#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"

using alloctap::MemoryOutput;
using alloctap::testing::StarvedArena;

TEST_CASE("the text is kept piece by piece, and can be read") {
  MemoryOutput output;
  CHECK(output.text().empty());
  REQUIRE(output.open().ok());
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string piece(static_cast<std::size_t>(i % 200), static_cast<char>('a' + i % 26));
    CHECK(output.write(piece).ok());
    expected += piece;
  }
  CHECK(output.commit().ok());
  CHECK(output.text() == expected);
}

TEST_CASE("the next report takes the place of the one before") {
  MemoryOutput output;
  REQUIRE(output.open().ok());
  CHECK(output.write("a long first report").ok());
  REQUIRE(output.open().ok());
  CHECK(output.write("second").ok());
  CHECK(output.text() == "second");
}

TEST_CASE("a text moves with its output") {
  MemoryOutput output;
  REQUIRE(output.open().ok());
  CHECK(output.write("report").ok());
  const MemoryOutput other(std::move(output));
  CHECK(other.text() == "report");
}

TEST_CASE("a report that finds no memory fails") {
  MemoryOutput output;
  REQUIRE(output.open().ok());
  const std::string large(1 << 20, 'x');
  alloctap::Status status;
  {
    const StarvedArena starved;
    status = output.write(large);
  }
  CHECK(status ==
        alloctap::Status::resource_exhausted("dump: the system has no memory to keep it"));
}

TEST_CASE("what is written before it is opened is kept") {
  MemoryOutput output;
  CHECK(output.text().empty());
  CHECK(output.write("one ").ok());
  CHECK(output.write("two").ok());
  CHECK(output.text() == "one two");
  REQUIRE(output.open().ok());
  CHECK(output.text().empty());
}
