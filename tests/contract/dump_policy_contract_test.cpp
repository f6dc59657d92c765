// Every dump is the same for the same report, and fails rather than leaves out; those that have
// room for it show who the report is about.
#include <doctest/doctest.h>

#include <string>
#include <tuple>

#include "alloctap/dump/dhat_dump.hpp"
#include "alloctap/dump/heaptrack_dump.hpp"
#include "alloctap/dump/html_dump.hpp"
#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/massif_dump.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/status.hpp"
#include "tests/support/all_dumps.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/piece_output.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/support/tagged_report.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::DhatDump;
using alloctap::DumpOutputArchetype;
using alloctap::DumpWriter;
using alloctap::HeaptrackDump;
using alloctap::HtmlDump;
using alloctap::JsonDump;
using alloctap::MassifDump;
using alloctap::RecordDump;
using alloctap::Report;
using alloctap::TextDump;

/// Those whose form has a place for the program, the hook and the account.
using FullReports = std::tuple<TextDump, JsonDump, HtmlDump, HeaptrackDump, DhatDump, MassifDump>;
bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE_TEMPLATE_DEFINE(
    "a dump says whose memory it shows, how it was seen and by whom it is held", Dump, says) {
  const SampleReport sample;
  const std::string text = render(Dump{}, sample.report());
  for (const std::string_view part :
       {"/opt/game/bin/game", "4711", "--level", "interpose", "backtrace", "256",
        "what nobody sees", "engine::load(char const*)", "engine::parse", "main"}) {
    CAPTURE(std::string(part));
    CHECK(contains(text, part));
  }
}
TEST_CASE_TEMPLATE_APPLY(says, FullReports);

TEST_CASE_TEMPLATE_DEFINE("a dump of the same report is the same", Dump, same) {
  const SampleReport sample;
  CHECK(render(Dump{}, sample.report()) == render(Dump{}, sample.report()));
}
TEST_CASE_TEMPLATE_APPLY(same, AllDumps);

TEST_CASE_TEMPLATE_DEFINE("a dump of a tracker that saw nothing is whole", Dump, saw_nothing) {
  SampleReport sample;
  sample.snapshot.stacks.clear();
  sample.snapshot.mappings.clear();
  sample.program = {};
  sample.backend = {};
  const std::string text = render(Dump{}, sample.report());
  CHECK(text.ends_with('\n'));
  CHECK(text.size() > 100);
}
TEST_CASE_TEMPLATE_APPLY(saw_nothing, FullReports);

TEST_CASE_TEMPLATE_DEFINE("a dump leaves errors of the output to the writer", Dump, error) {
  const SampleReport sample;
  PieceOutput output{.pieces_accepted = 0};
  DumpWriter writer(output);
  Dump{}.write(sample.report(), writer);
  CHECK(writer.finish() == alloctap::Status::data_loss("full"));
  CHECK(output.commits == 0);
}
TEST_CASE_TEMPLATE_APPLY(error, AllDumps);

TEST_CASE_TEMPLATE_DEFINE("a dump that has no memory fails", Dump, no_memory) {
  SampleReport sample;
  for (std::uintptr_t i = 1; i < 100'000; ++i) {
    sample.add({sample.intern({0x5000 + i}), {1, 100, 0}, 1, 100});
  }
  const Report report = sample.report();
  DumpOutputArchetype output;
  DumpWriter writer(output);
  alloctap::Status status;
  {
    const StarvedArena starved;
    Dump{}.write(report, writer);
    status = writer.finish();
  }
  CHECK(status.code() == alloctap::StatusCode::kResourceExhausted);
}
TEST_CASE_TEMPLATE_APPLY(no_memory, AllDumps);

TEST_CASE_TEMPLATE_DEFINE("a dump tells of stacks that have owners, with frames and without", Dump,
                          owners) {
  TaggedReport sample;
  sample.add({sample.intern({}, {.tag = sample.game}), {1, 5, 0}, 1, 5});
  sample.add({sample.intern({}, {.thread = 2}), {2, 6, 0}, 2, 6});
  const std::string text = render(Dump{}, sample.report());
  CHECK(text.size() >= render(Dump{}, SampleReport().report()).size());
}
TEST_CASE_TEMPLATE_APPLY(owners, AllDumps);
