#include <doctest/doctest.h>

#include <string>

#include "alloctap/dump/text/text_parts.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using alloctap::StackSummary;
using alloctap::TextDump;
using alloctap::testing::render;
using alloctap::testing::SampleReport;

/// A program that has freed all.
SampleReport report_of_nothing_live() {
  SampleReport sample;
  for (StackSummary& stack : sample.snapshot.stacks) stack.live_allocations = stack.live_bytes = 0;
  sample.snapshot.totals.live_allocations = sample.snapshot.totals.live_bytes = 0;
  return sample;
}

constexpr std::string_view kPeak = R"(
Nothing is live. Stacks that held memory at the peak, most first

#1  2.0 MiB (66.7 %) in 2 blocks; in all 5 of 5.0 MiB, 1 temporary
    engine::parse   0x2028
    main   0x3030

#2  1.0 MiB (33.3 %) in 20 blocks; in all 1,000 of 64.0 KiB, 250 temporary
    engine::load(char const*)   0x1010
    engine::parse   0x2020
    main   0x3030

Stacks that hold mappings, most first
)";

}  // namespace

TEST_CASE("a report of a program that freed all shows who held memory at the peak") {
  const SampleReport sample = report_of_nothing_live();
  CHECK(render(TextDump{}, sample.report()).find(kPeak) != std::string::npos);
}

TEST_CASE("a report with live memory shows that, and not the peak") {
  const SampleReport sample;
  CHECK(render(TextDump{}, sample.report()).find("Nothing is live") == std::string::npos);
}

TEST_CASE("a report shows as many stacks of the peak as it is asked for") {
  const SampleReport sample = report_of_nothing_live();
  const std::string text = render(TextDump{.most_stacks = 1}, sample.report());
  CHECK(text.find("at the peak, most first (1 of 2)\n\n#1  2.0 MiB") != text.npos);
  CHECK(text.find("#2") == text.npos);
  CHECK(render(TextDump{.most_stacks = 0}, sample.report()).find("Nothing") == std::string::npos);
}

TEST_CASE("a report of leaks does not show the peak") {
  const SampleReport sample = report_of_nothing_live();
  const alloctap::Suppressions none;
  CHECK(render(TextDump{.suppressions = &none}, sample.report()).find("Nothing is live") ==
        std::string::npos);
}

TEST_CASE("without a peak a report says where stacks can be seen") {
  SampleReport sample = report_of_nothing_live();
  sample.snapshot.peak = {};
  const std::string_view line =
      "\nNothing is live. A page shows which stacks allocated: HtmlDump, alloctap-run -o "
      "heap.html\n";
  CHECK(render(TextDump{}, sample.report()).find(line) != std::string::npos);
  sample.snapshot.totals.allocations = 0;
  CHECK(render(TextDump{}, sample.report()).find("Nothing is live") == std::string::npos);
}

TEST_CASE("a stack of the peak that has no sums is shown without them") {
  SampleReport sample = report_of_nothing_live();
  sample.snapshot.stacks.clear();
  CHECK(render(TextDump{}, sample.report()).find("#1  2.0 MiB (66.7 %) in 2 blocks\n    engine") !=
        std::string::npos);
}
