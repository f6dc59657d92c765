#include <doctest/doctest.h>

#include <string>

#include "alloctap/dump/text/text_parts.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "tests/support/tagged_report.hpp"

namespace {

using alloctap::TextDump;
using alloctap::testing::render;
using alloctap::testing::TaggedReport;

}  // namespace

TEST_CASE("who gave back what others had allocated is shown where it was asked for") {
  TaggedReport sample;
  CHECK(render(TextDump{}, sample.report()).find("given back") == std::string::npos);
  sample.hand_over();
  const std::string text = render(TextDump{}, sample.report());
  CHECK(text.find(R"(
Memory given back by another thread than had allocated it, most first
  2.9 KiB in 30 blocks   from game (4711) to 4712
  7 B in 1 block   from (not known) to 4712

)") != text.npos);
}
