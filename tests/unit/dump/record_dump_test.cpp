// What RecordDump writes, SavedReport reads: every dump of what was read is the dump of the report.
#include "alloctap/dump/record_dump.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "alloctap/dump/chrome_trace_dump.hpp"
#include "alloctap/dump/heaptrack_dump.hpp"
#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/massif_dump.hpp"
#include "alloctap/dump/recording/saved_report.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/status.hpp"
#include "tests/support/framed_report.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/support/tagged_report.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::ChromeTraceDump;
using alloctap::HeaptrackDump;
using alloctap::JsonDump;
using alloctap::MassifDump;
using alloctap::RecordDump;
using alloctap::Report;
using alloctap::SavedReport;
using alloctap::StackId;
using alloctap::TextDump;

/// A report that has everything once.
SampleReport full_sample() {
  SampleReport sample;
  sample.modules = alloctap::ModuleTable::read();
  sample.names = {{SampleReport::kParse, SampleReport::kMain, "engine::token", "src/token.hpp", 7},
                  {SampleReport::kParse, SampleReport::kMain, "engine::parse", "src/parse.cpp", 42},
                  {SampleReport::kMain, SampleReport::kNameless, "main", "", 0}};
  static int place;
  const auto address = reinterpret_cast<std::uintptr_t>(&place);
  sample.add({sample.intern({address, 0x1011}), {1, 100, 0}, 1, 100});
  static_cast<void>(sample.snapshot.blocks.push_back({0x5000, 100, alloctap::kUnknownStack}));
  static_cast<void>(
      sample.snapshot.blocks.push_back({0x6000, 100, alloctap::kUnknownStack, 12345}));
  sample.add_misuses();
  sample.snapshot.misuses_left_out = 3;
  return sample;
}

template <class Dump>
void check_same(const Dump& dump, const SampleReport& sample, SavedReport& saved) {
  CHECK(render(dump, saved.report()) == render(dump, sample.report()));
}

void check_round_trip(const SampleReport& sample) {
  const std::string record = render(RecordDump{}, sample.report());
  SavedReport saved;
  CHECK(saved.read(record) == alloctap::Status());
  check_same(JsonDump{}, sample, saved);
  check_same(TextDump{}, sample, saved);
  check_same(MassifDump{}, sample, saved);
  check_same(HeaptrackDump{.only_live = true}, sample, saved);
  check_same(RecordDump{}, sample, saved);
}

}  // namespace

TEST_CASE("a record keeps all of a report") {
  check_round_trip(SampleReport());
  check_round_trip(full_sample());
}

TEST_CASE("a record keeps what was checked") {
  SampleReport sample;
  sample.snapshot.checks = {.blocks = true,
                            .kinds = true,
                            .unknown_pointers = true,
                            .strings = true,
                            .front_guard = 1,
                            .rear_guard = 2,
                            .expand = 3,
                            .fill_on_allocate = alloctap::CheckSettings::kAllBytes,
                            .fill_on_free = 5,
                            .quarantine_blocks = 6,
                            .guard_pages = 7,
                            .abort_on = {}};
  check_round_trip(sample);
}

TEST_CASE("a record keeps how old blocks are") {
  const SampleReport sample = full_sample();
  const std::string record = render(RecordDump{}, sample.report());
  SavedReport saved;
  CHECK(saved.read(record).ok());
  const auto& blocks = saved.report().snapshot.blocks;
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].age_ns == -1);
  CHECK(blocks[1].age_ns == 12345);
}

TEST_CASE("a record keeps what cannot be told, and what is estimated") {
  SampleReport sample;
  sample.snapshot.account.unmatched_frees.reset();
  sample.snapshot.account.consistent = false;
  sample.snapshot.sampling = {.policy = {.name = "poisson-by-bytes", .mean_bytes = 524288},
                              .exact = false,
                              .live_samples = 1000,
                              .live_bytes_margin = 9 << 20};
  sample.add({alloctap::kStackNotTaken, {5, 500, 0}, 1, 100});
  auto& stacks = sample.snapshot.stacks;
  std::rotate(stacks.begin() + 1, stacks.end() - 1, stacks.end());
  sample.snapshot.time_ns = -5;
  check_round_trip(sample);
}

TEST_CASE("a record keeps an empty report") {
  SampleReport sample;
  sample.snapshot.stacks.clear();
  sample.snapshot.mappings.clear();
  sample.snapshot.timeline.clear();
  sample.snapshot.markers.clear();
  sample.snapshot.threads.clear();
  sample.snapshot.peak = {};
  sample.program = {};
  sample.backend = {};
  check_round_trip(sample);
}

TEST_CASE("a record keeps frames of modules that were unloaded apart from those at their place") {
  SampleReport sample;
  const alloctap::StackId first = sample.intern({SampleReport::kLoad + 1});
  sample.add({first, {1, 100, 0}, 1, 100});
  alloctap::Module module{.start = SampleReport::kLoad,
                          .end = SampleReport::kParse,
                          .path = "/old/plugin.so",
                          .has_code = true,
                          .unloaded_before = first + 1};
  REQUIRE(sample.modules.add_unloaded(module));
  sample.retire(first);
  sample.add({sample.intern({SampleReport::kLoad + 1}), {2, 400, 0}, 2, 400});
  check_round_trip(sample);
  const std::string record = render(RecordDump{}, sample.report());
  SavedReport saved;
  CHECK(saved.read(record).ok());
  const std::string json = render(JsonDump{}, saved.report());
  CHECK(json.find("\"path\":\"/old/plugin.so\"") != json.npos);
}

TEST_CASE("a record keeps tags, and whose each stack is") {
  TaggedReport sample;
  sample.add({sample.intern({}, {.tag = sample.game}), {1, 5, 0}, 1, 5});
  check_round_trip(sample);
  const std::string record = render(RecordDump{}, sample.report());
  SavedReport saved;
  CHECK(saved.read(record).ok());
  const Report report = saved.report();
  REQUIRE(report.snapshot.stacks.size() == 8);
  const StackId last = report.snapshot.stacks[7].stack;
  CHECK(report.snapshot.table->owner(last).tag == sample.game);
  CHECK(report.snapshot.table->frames(last).empty());
}

TEST_CASE("a record keeps the frames of a game, and budgets") {
  FramedReport sample;
  check_round_trip(sample);
  const std::string record = render(RecordDump{}, sample.report());
  SavedReport saved;
  CHECK(saved.read(record).ok());
  const alloctap::FrameHistory& frames = saved.report().snapshot.frames;
  REQUIRE(frames.offences.size() == 1);
  CHECK(frames.offences[0].tag_name == "Physics");
  CHECK(render(ChromeTraceDump{}, saved.report()) == render(ChromeTraceDump{}, sample.report()));
}

TEST_CASE("a record keeps who gave back what, what cannot be reached, and what allocators hold") {
  TaggedReport sample;
  alloctap::Snapshot& snapshot = sample.snapshot;
  REQUIRE(snapshot.threads.size() > 1);
  snapshot.freed.knowledge = alloctap::FreedKnowledge::kIncomplete;
  REQUIRE(snapshot.freed.blocks.push_back({snapshot.stacks[1].stack, 1, 3, 300}));
  REQUIRE(snapshot.freed.blocks.push_back({snapshot.stacks[2].stack, 0, 1, 10}));
  snapshot.scan = {
      .done = true, .unseen_threads = 2, .unread_bytes = 30, .stopped_ns = 400, .scan_ns = 5000};
  snapshot.stacks[1].unreachable = {1, 20, 3, 40};
  REQUIRE(snapshot.overheads.resize(sample.game + 1));
  snapshot.overheads[sample.game] = 4096;
  snapshot.forgotten_markers = 7;
  check_round_trip(sample);
  const std::string record = render(RecordDump{}, sample.report());
  SavedReport saved;
  CHECK(saved.read(record).ok());
  const Report report = saved.report();
  CHECK(report.snapshot.freed.knowledge == alloctap::FreedKnowledge::kIncomplete);
  CHECK(report.snapshot.freed.blocks.size() == 2);
  CHECK(report.snapshot.stacks[1].unreachable.indirect_bytes == 40);
  CHECK(report.snapshot.overheads.size() == sample.game + 1U);
  CHECK(report.snapshot.forgotten_markers == 7);
}

TEST_CASE("a record keeps what was allocated where nothing may be") {
  TaggedReport sample;
  sample.snapshot.scopes_known = true;
  check_round_trip(sample);
  alloctap::OffenceSum offence{
      .stack = sample.intern({SampleReport::kMain + 1}, {.tag = sample.physics}),
      .scopes = 2,
      .sums = {.allocations = 5, .bytes = 600, .frees = 1}};
  std::string_view("Physics::step").copy(offence.name_text, sizeof offence.name_text);
  REQUIRE(sample.snapshot.scope_offences.push_back(offence));
  // The stack of a free that the tracker did not record.
  offence.stack = alloctap::kNoStackId;
  REQUIRE(sample.snapshot.scope_offences.push_back(offence));
  sample.snapshot.left_out_scope_offences = 3;
  check_round_trip(sample);
}

TEST_CASE("a record of a tracker that met no tag still knows that there could be some") {
  SampleReport sample;
  const auto tags = std::make_unique<alloctap::TagTable>();
  sample.snapshot.tags = tags.get();
  check_round_trip(sample);
  sample.snapshot.tags = nullptr;
  check_round_trip(sample);
}
