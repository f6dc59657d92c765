#include <doctest/doctest.h>

#include <string>

#include "alloctap/dump/text/text_report.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using alloctap::Suppressions;
using alloctap::TextDump;
using alloctap::testing::render;
using alloctap::testing::SampleReport;

}  // namespace

TEST_CASE("what is lost definitely and what indirectly are two lists of a report") {
  SampleReport sample;
  sample.snapshot.scan = {.done = true,
                          .unseen_threads = 1,
                          .unread_bytes = 4096,
                          .stopped_ns = 5'000'000,
                          .scan_ns = 70'000'000};
  sample.snapshot.stacks[1].unreachable = {2, 8192, 1, 512};
  sample.snapshot.stacks[2].unreachable = {0, 0, 1, 1024};
  const Suppressions suppressions;
  const std::string text = render(TextDump{.suppressions = &suppressions}, sample.report());
  CAPTURE(text);
  CHECK(text.find("\nLeaked     9.5 KiB in 4 blocks of 2 stacks; suppressed 0 B in 0 blocks\n"
                  "           of it out of reach: definitely 8.0 KiB in 2 blocks, indirectly "
                  "1.5 KiB in 2 blocks\n"
                  "           scanned in 70,000 us, threads stopped for 5,000 us\n"
                  "           1 thread could not be stopped: what only their registers hold counts "
                  "as leaked\n"
                  "           4.0 KiB could not be read: what only they point at counts as "
                  "leaked\n") != text.npos);
  const std::size_t definite =
      text.find("\nStacks with blocks that are definitely lost, most first\n\n#1  8.0 KiB (");
  const std::size_t indirect =
      text.find("\nStacks with blocks that are lost with others, most first\n\n#1  1.0 KiB (");
  CHECK(definite < indirect);
  CHECK(indirect != text.npos);
  CHECK(text.find("\n#2  512 B (", indirect) != text.npos);
}
