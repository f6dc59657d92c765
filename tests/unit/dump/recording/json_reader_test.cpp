#include "alloctap/dump/recording/json_reader.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "alloctap/dump/json_dump.hpp"
#include "alloctap/snapshot/profile_diff.hpp"
#include "alloctap/status.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/support/tagged_report.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::render;
using alloctap::testing::SampleReport;
using alloctap::testing::StarvedArena;
using alloctap::testing::TaggedReport;

ArenaArray<char> text_from(std::string_view text) {
  ArenaArray<char> array;
  REQUIRE(array.resize_for_overwrite(text.size()));
  text.copy(array.data(), text.size());
  return array;
}

std::string error_of(std::string_view text, SavedProfile& profile) {
  return std::string(JsonReader::read(text_from(text), profile).message());
}

std::string error_of(std::string_view text) {
  SavedProfile profile;
  return error_of(text, profile);
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

/// With a frame in a module, one in none and inlined functions.
struct Sample : SampleReport {
  Sample() {
    Module module{.start = kMain, .end = kMain + 0x1000, .bias = kMain, .path = "/opt/game"};
    module.build_id_bytes = 3;
    module.build_id[0] = std::byte{0xAB};
    module.build_id[2] = std::byte{0x01};
    module.unloaded_before = ~StackId{0};
    REQUIRE(modules.add_unloaded(module));
    names = {{kParse, kMain, "engine::token", "src/token.hpp", 7},
             {kParse, kMain, "engine::parse", "src/parse.cpp", 42},
             {kMain, kNameless, "main", "", 0}};
    add({kStackNotTaken, {1, 2, 0}, 1, 2});
  }
  [[nodiscard]] std::string json() const { return render(JsonDump{}, report()); }
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("what was dumped is read again") {
  const Sample sample;
  SavedProfile profile;
  CHECK(error_of(sample.json(), profile) == "");
  CHECK(profile.pid == 4711);
  CHECK(profile.executable == "/opt/game/bin/game");
  CHECK(profile.time_ns == 1'700'000'000'123'456'789);
  CHECK(profile.totals.allocations == 1235579);
  CHECK(profile.totals.deallocations == 1235566);
  CHECK(profile.totals.peak_live_bytes == 3 << 20);
  REQUIRE(profile.modules.size() == 1);
  CHECK(profile.modules[0].path == "/opt/game");
  CHECK(profile.modules[0].bias == SampleReport::kMain);
  CHECK(profile.modules[0].build_id_bytes == 3);
  CHECK(profile.modules[0].build_id[0] == std::byte{0xAB});
  CHECK(profile.modules[0].build_id[2] == std::byte{0x01});
  REQUIRE(profile.stacks.size() == sample.snapshot.stacks.size());
  for (std::size_t i = 0; i < profile.stacks.size(); ++i) {
    CAPTURE(i);
    const StackSummary& saved = profile.stacks[i].sums;
    CHECK(change_between(saved, sample.snapshot.stacks[i]) == HeapChange{});
    CHECK(profile.stacks[i].frames ==
          sample.snapshot.table->frames(sample.snapshot.stacks[i].stack).size());
  }
  CHECK(profile.stacks[profile.stacks.size() - 1].outside_size_range);
  CHECK_FALSE(profile.stacks[0].outside_size_range);
}

TEST_CASE("frames have their places and functions") {
  const Sample sample;
  SavedProfile profile;
  REQUIRE(error_of(sample.json(), profile) == "");
  const auto deep = profile.frames_of(profile.stacks[1]);
  REQUIRE(deep.size() == 3);
  const SavedFrame& load = profile.frames[deep[0]];
  CHECK(load.address == SampleReport::kLoad + 0x11);
  CHECK(profile.module_of(load) == nullptr);
  CHECK(profile.sources_of(load).empty());
  const auto parse = profile.sources_of(profile.frames[deep[1]]);
  REQUIRE(parse.size() == 2);
  CHECK(parse[0].function == "engine::token");
  CHECK(parse[0].line == 7);
  CHECK(parse[1].file == "src/parse.cpp");
  const SavedFrame& main = profile.frames[deep[2]];
  CHECK(profile.module_of(main) == &profile.modules[0]);
  CHECK(main.offset == 0x30);
  CHECK(profile.sources_of(main)[0].function == "main");
}

TEST_CASE("a saved stack has the key that it had in its process") {
  const Sample sample;
  SavedProfile profile;
  REQUIRE(error_of(sample.json(), profile) == "");
  const StackKeys keys(sample.modules);
  const SavedStackKeys saved(profile, StackMatch::kPlaces);
  for (std::size_t i = 0; i < profile.stacks.size(); ++i) {
    CHECK(saved.of(profile.stacks[i]) ==
          keys.of(*sample.snapshot.table, sample.snapshot.stacks[i].stack));
  }
}

TEST_CASE("a saved stack has its tag, and another key in each tag") {
  const TaggedReport sample;
  SavedProfile profile;
  REQUIRE(error_of(render(JsonDump{}, sample.report()), profile) == "");
  REQUIRE(profile.stacks.size() == 7);
  CHECK(profile.stacks[0].tag.empty());
  CHECK(profile.stacks[4].tag == "Game/Physics");
  CHECK(profile.stacks[5].tag == "Game/Sound/Voice");
  const StackKeys keys(sample.modules, sample.snapshot.tags);
  const SavedStackKeys saved(profile, StackMatch::kPlaces);
  for (std::size_t i = 0; i < profile.stacks.size(); ++i) {
    CHECK(saved.of(profile.stacks[i]) ==
          keys.of(*sample.snapshot.table, sample.snapshot.stacks[i].stack));
  }
  CHECK(saved.of(profile.stacks[4]) != saved.of(profile.stacks[5]));
  // Threads are others in every run.
  CHECK(saved.of(profile.stacks[5]) == saved.of(profile.stacks[6]));
}

TEST_CASE("every beginning of a report is read as far as it goes, and said to be one") {
  const Sample sample;
  const std::string whole = sample.json();
  std::size_t most = 0;
  for (std::size_t length = 0; length + 2 < whole.size(); ++length) {
    SavedProfile profile;
    const std::string error = error_of(std::string_view(whole).substr(0, length), profile);
    CAPTURE(length);
    CHECK_FALSE(error.empty());
    CHECK(profile.stacks.size() >= most);
    most = profile.stacks.size();
    if (most > 0)
      CHECK(holds(error, "is cut short: its text ends after " + std::to_string(length)));
  }
  CHECK(most == sample.snapshot.stacks.size());
}

TEST_CASE("what is no report is refused, and nothing of it is taken") {
  for (const char* text : {"", "{", "[", "null", "4711", "{}", "[{}]", "GIF89a", "\x1f\x8b\x08",
                           R"({"schema": 1, "stacks": []})", R"({"stacks": [{"live_bytes": 1}]})",
                           R"({"schema": "speedscope", "stacks": []})"}) {
    SavedProfile profile;
    CAPTURE(text);
    CHECK(holds(error_of(text, profile), "is no report of alloctap"));
    CHECK(profile.stacks.empty());
    CHECK(profile.pid == 0);
  }
}

TEST_CASE("a report of a newer schema is read and named") {
  const Sample sample;
  SavedProfile profile;
  const std::string error =
      error_of(replaced(sample.json(), "alloctap.heap/1", "alloctap.heap/2"), profile);
  CHECK(holds(error, "has the schema alloctap.heap/2"));
  CHECK(profile.stacks.size() == sample.snapshot.stacks.size());
}

TEST_CASE("keys that are not known are passed over, in any order") {
  SavedProfile profile;
  CHECK(error_of(R"({"stacks": [{"temporary_allocations": 5, "new": {"live_bytes": 99, "x": [[1]]},
      "live_bytes": 4, "live_allocations": 3, "frames": [0], "allocated_bytes": 2,
      "allocations": 1}], "frames": [{"offset": 7, "module": 0, "address": 8, "inlined": []}],
      "extra": [1, "2", null, -3, 4.5, true], "totals": {"live_bytes": 4}, "program": {},
      "modules": [{"path": "/a", "build_id": null}], "schema": "alloctap.heap/1"})",
                 profile) == "");
  REQUIRE(profile.stacks.size() == 1);
  CHECK(profile.stacks[0].sums.live_bytes == 4);
  CHECK(profile.stacks[0].sums.total.temporary_allocations == 5);
  CHECK(profile.frames_of(profile.stacks[0]).size() == 1);
  CHECK(profile.modules[0].build_id_bytes == 0);
}

TEST_CASE("damage is told, and what is sound is read") {
  const std::string whole = Sample().json();
  SavedProfile profile;
  CHECK(holds(error_of(replaced(whole, R"("live_bytes":40960)", R"("live_bytes":-1)"), profile),
              "a stack has not all of its numbers; the others"));
  CHECK(profile.stacks.size() == Sample().snapshot.stacks.size() - 1);
  CHECK(holds(error_of(replaced(whole, R"("totals")", R"("sums")")), "there is no \"totals\""));
  CHECK(holds(error_of(whole + "x"), "is damaged at byte "));
  CHECK(holds(error_of(replaced(whole, R"("frames":[)", R"("frames":[,)")), "is damaged at byte "));
  CHECK(holds(error_of(R"({"schema": "alloctap.heap/1", "a": )" + std::string(100'000, '[')),
              "nests deeper"));
}

TEST_CASE("numbers of frames and modules that are not there are taken out") {
  SavedProfile profile;
  const std::string error =
      error_of(R"({"schema": "alloctap.heap/1", "program": {}, "totals": {}, "modules": [],
      "frames": [{"module": 0, "address": 8}, {"module": 18446744073709551614}],
      "stacks": [{"frames": [0, 2], "allocations": 1, "allocated_bytes": 2, "live_bytes": 3,
                  "live_allocations": 4, "temporary_allocations": 5}]})",
               profile);
  CHECK(holds(error, "refer to what is not there"));
  CHECK(profile.frames[0].module == SavedFrame::kNoModule);
  CHECK(profile.frames[1].module == SavedFrame::kNoModule);
  CHECK(profile.frames_of(profile.stacks[0]).empty());
  CHECK(profile.stacks[0].sums.live_bytes == 3);
}

TEST_CASE("without memory for it there is an error") {
  std::string text = R"({"schema": "alloctap.heap/1", "frames": [)";
  for (int i = 0; i < 100'000; ++i) text += R"({"address": 1},)";
  ArenaArray<char> array = text_from(text);
  SavedProfile profile;
  const StarvedArena starved;
  CHECK(JsonReader::read(std::move(array), profile).code() ==
        alloctap::StatusCode::kResourceExhausted);
}
