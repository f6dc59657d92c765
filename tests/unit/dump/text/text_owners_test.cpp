#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
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

TEST_CASE("of many pairs of threads the largest are shown, and the others counted") {
  TaggedReport sample;
  sample.hand_over();
  for (std::uint32_t i = 0; i < 22; ++i) {
    const auto thread = static_cast<std::uint32_t>(sample.snapshot.threads.size());
    REQUIRE(sample.snapshot.threads.push_back(alloctap::ThreadSummary{}));
    REQUIRE(sample.snapshot.freed.blocks.push_back({alloctap::kUnknownStack, thread, 1, 100 + i}));
  }
  const std::string text = render(TextDump{}, sample.report());
  std::size_t pairs = 0;
  for (std::size_t at = text.find("   from "); at != text.npos;
       at = text.find("   from ", at + 1)) {
    ++pairs;
  }
  CHECK(pairs == 20);
  CHECK(text.find("\n  and 4 more pairs\n") != text.npos);
  CHECK(text.find(" 7 B in 1 block ") == text.npos);
}
