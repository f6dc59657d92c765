#include "alloctap/dump/json_dump.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/support/framed_report.hpp"
#include "tests/support/pooled_report.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/support/tagged_report.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::JsonDump;
using alloctap::ModuleTable;
using alloctap::Report;
using nlohmann::json;

json parsed(const Report& report, const JsonDump& policy = {}) {
  return json::parse(render(policy, report));
}

/// "frames[].offset" and so on, with the types that occur there.
using Keys = std::map<std::string, std::set<std::string>>;

void collect_keys(const json& value, const std::string& path, Keys& keys) {
  if (!path.empty()) keys[path].insert(value.type_name());
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) {
      collect_keys(inner, path.empty() ? key : path + "." + key, keys);
    }
  }
  if (value.is_array()) {
    for (const json& inner : value) collect_keys(inner, path + "[]", keys);
    if (!value.empty() && value[0].is_object()) keys.erase(path + "[]");
  }
}

/// The table of the schema in include/alloctap/dump/README.md.
Keys documented_keys() {
  Keys keys;
  std::ifstream readme(ALLOCTAP_DUMP_README);
  for (std::string line; std::getline(readme, line);) {
    if (!line.starts_with("| `") || line.find("Dump`") != line.npos ||
        line.find("Output`") != line.npos) {
      continue;
    }
    const std::size_t key_end = line.find('`', 3);
    const std::size_t type = line.find("| ", key_end) + 2;
    const std::string types = line.substr(type, line.find(" |", type) - type);
    std::set<std::string>& allowed = keys[line.substr(3, key_end - 3)];
    allowed.insert(types.substr(0, types.find(' ')));
    if (types.ends_with(" or null")) allowed.insert("null");
  }
  return keys;
}

/// Makes `engine::parse` one that was inlined, both with their places.
void show_places(SampleReport& sample) {
  sample.names = {{SampleReport::kParse, SampleReport::kMain, "engine::token", "src/token.hpp", 7},
                  {SampleReport::kParse, SampleReport::kMain, "engine::next", "", 0},
                  {SampleReport::kParse, SampleReport::kMain, "engine::parse", "src/parse.cpp", 42},
                  {SampleReport::kMain, SampleReport::kNameless, "main", "", 0}};
}

/// One with modules, named and nameless frames, and frames in a module and in none.
Report full_report(SampleReport& sample) {
  show_places(sample);
  static int place;
  sample.modules = ModuleTable::read();
  const auto address = reinterpret_cast<std::uintptr_t>(&place);
  sample.add({sample.intern({address, 0x1011}), {1, 100, 0}, 1, 100});
  if (sample.snapshot.misuses.empty()) sample.add_misuses();
  sample.snapshot.checks.kinds = true;
  return sample.report();
}

}  // namespace

TEST_CASE("a report has the numbers of the snapshot under the names of the schema") {
  const SampleReport sample;
  const json report = parsed(sample.report());
  CHECK(report["schema"] == "alloctap.heap/1");
  CHECK(report["program"] == json::parse(R"({"pid": 4711, "executable": "/opt/game/bin/game",
      "arguments": ["game", "--level", "3"], "time_ns": 1700000000123456789})"));
  CHECK(report["backend"] == json{{"alloctap", alloctap::kVersionString},
                                  {"hook", "interpose"},
                                  {"stack", "backtrace"},
                                  {"max_frames", 256},
                                  {"symbolizer", "fake"},
                                  {"unseen", "what nobody sees"}});
  CHECK(report["account"] == json::parse(R"({"events": 2471158, "dropped": 1, "unmatched_frees": 2,
      "unseen_frees": 3, "failed_unwinds": 4, "frame_pointer_unwinds": 6,
      "truncated_stacks": 5, "tracker_bytes": 6291456,
      "pauses": 0, "unlogged_events": 0, "consistent": true})"));
  CHECK(report["totals"] == json::parse(R"({"allocations": 1235579, "deallocations": 1235566,
      "allocated_bytes": 5308585, "live_allocations": 13, "live_bytes": 1089538,
      "peak_live_bytes": 3145728, "temporary_allocations": 1234818})"));
}

TEST_CASE("stacks are leaf-first indices into the frames") {
  const SampleReport sample;
  const json report = parsed(sample.report());
  CHECK(report["frames"] == json::parse(R"json([
      {"address": 4113, "function": "engine::load(char const*)", "file": null, "line": null,
       "inlined": [], "module": null, "offset": null},
      {"address": 8225, "function": "engine::parse", "file": null, "line": null, "inlined": [],
       "module": null, "offset": null},
      {"address": 8233, "function": "engine::parse", "file": null, "line": null, "inlined": [],
       "module": null, "offset": null},
      {"address": 12337, "function": "main", "file": null, "line": null, "inlined": [],
       "module": null, "offset": null},
      {"address": 16449, "function": null, "file": null, "line": null, "inlined": [],
       "module": null, "offset": null}])json"));
  CHECK(report["stacks"] == json::parse(R"json([
      {"frames": [], "tag": null, "thread": null,
       "suppressed_by": null, "expected_to_stay": false, "outside_size_range": false, "allocations": 7, "allocated_bytes": 70, "live_allocations": 2,
       "live_bytes": 3, "temporary_allocations": 0, "unreachable": null},
      {"frames": [0, 1, 3], "tag": null, "thread": null,
       "suppressed_by": null, "expected_to_stay": false, "outside_size_range": false, "allocations": 1000, "allocated_bytes": 65536, "live_allocations": 10,
       "live_bytes": 40960, "temporary_allocations": 250, "unreachable": null},
      {"frames": [2, 3], "tag": null, "thread": null,
       "suppressed_by": null, "expected_to_stay": false, "outside_size_range": false, "allocations": 5, "allocated_bytes": 5242880, "live_allocations": 1,
       "live_bytes": 1048575, "temporary_allocations": 1, "unreachable": null},
      {"frames": [4], "tag": null, "thread": null,
       "suppressed_by": null, "expected_to_stay": false, "outside_size_range": false, "allocations": 1234567, "allocated_bytes": 99, "live_allocations": 0,
       "live_bytes": 0, "temporary_allocations": 1234567, "unreachable": null}])json"));
  CHECK(report["mappings"] == json::parse(R"({"mappings": 9, "unmappings": 4,
      "mapped_bytes": 40960, "live_mappings": 2, "live_bytes": 8192, "peak_live_bytes": 12288, "dropped": 0,
      "stacks": [{"frames": [0, 1, 3], "live_mappings": 2, "live_bytes": 8192}]})"));
}

TEST_CASE("what is live is told by size, without the classes that have none") {
  const SampleReport sample;
  CHECK(parsed(sample.report())["sizes"] == json::parse(R"([
      {"min_bytes": 1, "max_bytes": 1, "live_allocations": 2, "live_bytes": 3},
      {"min_bytes": 4096, "max_bytes": 8191, "live_allocations": 10, "live_bytes": 40960},
      {"min_bytes": 524288, "max_bytes": 1048575, "live_allocations": 1, "live_bytes": 1048575}])"));
}

TEST_CASE("the past is told by its points, its markers and its peak") {
  const SampleReport sample;
  const json report = parsed(sample.report());
  REQUIRE(report["timeline"].size() == 3);
  CHECK(report["timeline"][1] == json::parse(R"({"time_ns": 1700000030000000000,
      "live_bytes": 3145728, "live_allocations": 10, "allocations": 100000,
      "allocated_bytes": 2000000, "resident_bytes": 8388608})"));
  CHECK(report["markers"] ==
        json::parse(R"([{"time_ns": 1700000015000000000, "name": "level <1> loaded"}])"));
  CHECK(report["peak"] == json::parse(R"({"time_ns": 1700000030000000000, "live_bytes": 3145728,
      "stacks": [{"frames": [0, 1, 3], "live_allocations": 20, "live_bytes": 1048576},
                 {"frames": [2, 3], "live_allocations": 2, "live_bytes": 2097152}]})"));
}

TEST_CASE("a stack that held something at the peak alone has its frames") {
  SampleReport sample;
  static_cast<void>(sample.snapshot.peak.stacks.push_back({sample.intern({0x5011}), 1, 1}));
  const json report = parsed(sample.report());
  const json& frames = report["peak"]["stacks"].back()["frames"];
  REQUIRE(frames.size() == 1);
  CHECK(report["frames"][frames[0].get<std::size_t>()]["address"] == 0x5011);
}

TEST_CASE("a frame tells its place in the source, and what was inlined there") {
  SampleReport sample;
  show_places(sample);
  const json frame = parsed(sample.report())["frames"][1];
  CHECK(frame["function"] == "engine::parse");
  CHECK(frame["file"] == "src/parse.cpp");
  CHECK(frame["line"] == 42);
  CHECK(frame["inlined"] == json::parse(R"([
      {"function": "engine::token", "file": "src/token.hpp", "line": 7},
      {"function": "engine::next", "file": null, "line": null}])"));
}

TEST_CASE("a report has the documented keys and no others, with the documented types") {
  SampleReport sample;
  Keys written;
  collect_keys(parsed(full_report(sample)), "", written);
  alloctap::Suppressions suppressions;
  REQUIRE(suppressions.add("leak:main\ndouble_free:main", "rules").ok());
  sample.snapshot.scan.done = true;
  collect_keys(parsed(full_report(sample), {.suppressions = &suppressions}), "", written);
  TaggedReport tagged;
  tagged.hand_over();
  collect_keys(parsed(tagged.report()), "", written);
  FramedReport framed;
  framed.snapshot.scopes_known = true;
  const alloctap::StackId stack =
      framed.intern({SampleReport::kMain + 1}, {.tag = framed.physics, .thread = 1});
  static_cast<void>(framed.snapshot.scope_offences.push_back({.stack = stack, .scopes = 1}));
  collect_keys(parsed(framed.report()), "", written);
  PooledReport pooled;
  collect_keys(parsed(pooled.report()), "", written);
  pooled.snapshot.pools.unknown_frees.reset();
  collect_keys(parsed(pooled.report()), "", written);
  const Keys documented = documented_keys();
  REQUIRE(documented.size() > 50);
  for (const auto& entry : documented) {
    CHECK_MESSAGE(written.contains(entry.first), entry.first);
  }
  for (const auto& [key, types] : written) {
    CAPTURE(key);
    REQUIRE(documented.contains(key));
    for (const std::string& type : types) {
      CAPTURE(type);
      CHECK(documented.at(key).contains(type));
    }
  }
}

TEST_CASE("a report of nothing still has every key") {
  SampleReport sample;
  sample.snapshot.stacks.clear();
  sample.snapshot.mappings.clear();
  sample.snapshot.sizes = {};
  sample.snapshot.timeline.clear();
  sample.snapshot.markers.clear();
  sample.snapshot.peak = {};
  sample.program = {};
  sample.backend = {};
  const json report = parsed(sample.report());
  for (const char* list : {"modules", "frames", "stacks", "sizes", "timeline", "markers"})
    CHECK(report[list] == json::array());
  CHECK(report["mappings"]["stacks"] == json::array());
  CHECK(report["peak"] == json::parse(R"({"time_ns": 0, "live_bytes": 0, "stacks": []})"));
  CHECK(report["program"]["arguments"] == json::array());
  CHECK(report["program"]["executable"] == "");
  CHECK(report["backend"]["unseen"] == "");
}

TEST_CASE("what cannot be told is null") {
  SampleReport sample;
  sample.snapshot.account.unmatched_frees.reset();
  sample.snapshot.account.pauses = 3;
  const json report = parsed(sample.report());
  CHECK(report["account"]["unmatched_frees"].is_null());
  CHECK(report["account"]["pauses"] == 3);
}

TEST_CASE("a frame in a module has the place that symbolizers ask for") {
  SampleReport sample;
  const Report full = full_report(sample);
  const json report = parsed(full);
  REQUIRE(report["modules"].size() == full.modules.modules().size());
  std::size_t found = 0;
  for (const json& frame : report["frames"]) {
    if (frame["module"].is_null()) continue;
    ++found;
    const json& module = report["modules"][frame["module"].get<std::size_t>()];
    const auto call = frame["address"].get<std::uintptr_t>() - 1;
    CHECK(call >= module["start"]);
    CHECK(call < module["end"]);
    CHECK(frame["offset"] == call - module["bias"].get<std::uintptr_t>());
  }
  CHECK(found == 1);
}

TEST_CASE("a build-id is hexadecimal") {
  SampleReport sample;
  const Report full = full_report(sample);
  const json report = parsed(full);
  std::size_t with_id = 0;
  for (std::size_t i = 0; i < report["modules"].size(); ++i) {
    const json& id = report["modules"][i]["build_id"];
    const std::size_t bytes = full.modules.modules()[i].build_id_bytes;
    CHECK(id.is_null() == (bytes == 0));
    if (id.is_null()) continue;
    ++with_id;
    const auto text = id.get<std::string>();
    CHECK(text.size() == 2 * bytes);
    CHECK(text.find_first_not_of("0123456789abcdef") == text.npos);
  }
  CHECK(with_id > 0);
}

TEST_CASE("numbers need all of 64 bits") {
  SampleReport sample;
  sample.snapshot.totals.allocated_bytes = UINT64_MAX;
  sample.snapshot.time_ns = INT64_MIN;
  sample.add({sample.intern({UINTPTR_MAX}), {UINT64_MAX, 0, 0}, 0, 0});
  const json report = parsed(sample.report());
  CHECK(report["totals"]["allocated_bytes"] == UINT64_MAX);
  CHECK(report["program"]["time_ns"] == INT64_MIN);
  CHECK(report["frames"].back()["address"] == UINTPTR_MAX);
  CHECK(report["stacks"].back()["allocations"] == UINT64_MAX);
}
