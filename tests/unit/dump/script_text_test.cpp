#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "alloctap/dump/html_page_writer.hpp"
#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/status.hpp"
#include "tests/support/piece_output.hpp"

namespace {

using alloctap::DumpWriter;
using alloctap::MemoryOutput;
using alloctap::ScriptText;

/// What comes out of `text`, handed over in pieces of `length`.
std::string in_script(std::string_view text, std::size_t length) {
  MemoryOutput output;
  DumpWriter writer(output);
  ScriptText script(writer);
  for (; !text.empty(); text.remove_prefix(std::min(length, text.size()))) {
    REQUIRE(script.write(text.substr(0, length)).ok());
  }
  REQUIRE(writer.finish().ok());
  return std::string(output.text());
}

}  // namespace

TEST_CASE("nothing in a script element ends it, or begins a comment, however the text is cut") {
  constexpr std::string_view kJson = R"(["</script>", "<!--", "<<//", "a<b>/c", "<\/", "<"])";
  for (std::size_t length = 1; length <= kJson.size(); ++length) {
    CAPTURE(length);
    CHECK(in_script(kJson, length) ==
          R"(["<\/script>", "<\u0021--", "<<\//", "a<b>/c", "<\/", "<"])");
  }
}

TEST_CASE("a writer that failed is told of") {
  alloctap::testing::PieceOutput output{.pieces_accepted = 0};
  DumpWriter writer(output);
  ScriptText script(writer);
  CHECK(script.write("{}").ok());
  writer.fail("no more");
  CHECK(script.write("{}").code() == alloctap::StatusCode::kCancelled);
}
