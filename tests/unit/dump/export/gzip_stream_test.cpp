#include "alloctap/dump/export/gzip_stream.hpp"

#include <doctest/doctest.h>

#include <string>

#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/piece_output.hpp"

namespace {

using alloctap::DumpWriter;
using alloctap::GzipStream;
using alloctap::testing::PieceOutput;

std::string zip(const std::string& text, std::size_t piece) {
  PieceOutput output;
  DumpWriter writer(output);
  {
    GzipStream gzip(writer);
    for (std::size_t i = 0; i < text.size(); i += piece) gzip.write(text.substr(i, piece));
    gzip.finish();
  }
  CHECK(writer.finish().ok());
  return output.text();
}

/// By the whole member, which has no other one behind it.
std::string unzip(std::string zipped, std::size_t most) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  std::string text(most, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(zipped.data());
  stream.avail_in = static_cast<uInt>(zipped.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  CHECK(stream.avail_in == 0);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

/// Hard to compress, so that more comes out than there is room for at once.
std::string noise(std::size_t size) {
  std::string text;
  for (std::uint64_t state = 1; text.size() < size;) {
    state = state * 6364136223846793005 + 1442695040888963407;
    text.push_back(static_cast<char>(state >> 56));
  }
  return text;
}

}  // namespace

TEST_CASE("what was written comes out, whatever the pieces") {
  for (const std::string& text :
       {std::string(), std::string("a"), std::string(1'000'000, 'x'), noise(1'000'000)}) {
    for (const std::size_t piece : {std::size_t{999}, std::size_t{65536}, std::size_t{1'000'000}}) {
      CHECK((unzip(zip(text, piece), text.size() + 1) == text));
    }
  }
}

TEST_CASE("the same bytes give the same file") {
  CHECK((zip(noise(100'000), 100) == zip(noise(100'000), 100)));
}

TEST_CASE("where memory ends, the dump fails") {
  PieceOutput output;
  DumpWriter writer(output);
  {
    const alloctap::testing::StarvedArena starved;
    GzipStream gzip(writer);
    gzip.write("text");
    gzip.finish();
  }
  CHECK(writer.finish().code() == alloctap::StatusCode::kResourceExhausted);
}
