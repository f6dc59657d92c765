#include "alloctap/dump/pprof_dump.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <string>
#include <vector>

#include "alloctap/dump/named_stacks.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/support/tagged_report.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::ModuleTable;
using alloctap::PprofDump;
using alloctap::Report;
using protozero::pbf_reader;
using Texts = std::vector<std::string>;
using Numbers = std::vector<std::uint64_t>;

std::string unzip(const std::string& zipped) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  std::string bytes(100 * zipped.size() + 100'000, '\0');
  std::string copy = zipped;
  stream.next_in = reinterpret_cast<Bytef*>(copy.data());
  stream.avail_in = static_cast<uInt>(copy.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  CHECK(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  CHECK(stream.avail_in == 0);
  bytes.resize(stream.total_out);
  inflateEnd(&stream);
  return bytes;
}

/// A profile as a reader finds it: messages by field number, texts in a table.
struct Profile {
  explicit Profile(const Report& report) : bytes(unzip(render(PprofDump{}, report))) {
    for (pbf_reader profile(bytes); profile.next();) {
      if (profile.tag() == 6) {
        texts.push_back(profile.get_string());
      } else if (profile.wire_type() == protozero::pbf_wire_type::varint) {
        numbers[profile.tag()].push_back(profile.get_uint64());
      } else {
        messages[profile.tag()].push_back(profile.get_message());
      }
    }
  }

  /// The numbers of a message, by field number; those of a packed field all.
  static std::map<std::uint32_t, Numbers> fields(pbf_reader message) {
    std::map<std::uint32_t, Numbers> found;
    while (message.next()) {
      Numbers& values = found[message.tag()];
      if (message.wire_type() == protozero::pbf_wire_type::varint) {
        values.push_back(message.get_uint64());
      } else {
        for (const std::uint64_t value : message.get_packed_uint64()) values.push_back(value);
      }
    }
    return found;
  }

  /// "name@file:line" of the lines of a location.
  Texts lines(std::uint64_t location) const {
    Texts found;
    for (pbf_reader message : messages.at(4)) {
      std::uint64_t id = 0;
      Texts here;
      while (message.next()) {
        if (message.tag() == 1)
          id = message.get_uint64();
        else if (message.tag() == 4)
          here.push_back(line(message.get_message()));
        else
          message.skip();
      }
      if (id == location) found = here;
    }
    return found;
  }

  std::string line(pbf_reader message) const {
    auto values = fields(message);
    for (const pbf_reader& function : messages.at(5)) {
      auto of = fields(function);
      if (of[1] != values[1]) continue;
      return texts[of[2].at(0)] + "@" + texts[of[4].at(0)] + ":" + std::to_string(values[2].at(0));
    }
    return "?";
  }

  /// The lines of all calls of a sample, leaf first.
  Texts stack(std::size_t sample) const {
    Texts all;
    const Numbers locations = fields(messages.at(2).at(sample))[1];
    for (const std::uint64_t location : locations) {
      for (const std::string& text : lines(location)) all.push_back(text);
    }
    return all;
  }

  /// "key=number unit" or "key=text"
  Texts labels(std::size_t sample) const {
    Texts found;
    pbf_reader message = messages.at(2).at(sample);
    while (message.next(3)) {
      auto label = fields(message.get_message());
      const std::string key = texts[label[1].at(0)] + "=";
      found.push_back(key + (label.contains(2)
                                 ? texts[label[2].at(0)]
                                 : std::to_string(label[3].at(0)) + " " + texts[label[4].at(0)]));
    }
    return found;
  }

  Numbers values(std::size_t sample) const { return fields(messages.at(2).at(sample))[2]; }

  std::string bytes;
  Texts texts;
  std::map<std::uint32_t, Numbers> numbers;
  std::map<std::uint32_t, std::vector<pbf_reader>> messages;
};

}  // namespace

TEST_CASE("a profile has the types and the default of a heap profile") {
  const SampleReport sample;
  Profile profile(sample.report());
  REQUIRE(!profile.texts.empty());
  CHECK(profile.texts[0] == "");
  Texts types;
  for (const pbf_reader& type : profile.messages[1]) {
    auto fields = Profile::fields(type);
    types.push_back(profile.texts[fields[1].at(0)] + "/" + profile.texts[fields[2].at(0)]);
  }
  CHECK(types == Texts{"alloc_objects/count", "alloc_space/bytes", "inuse_objects/count",
                       "inuse_space/bytes"});
  CHECK(profile.texts[profile.numbers[14].at(0)] == "inuse_space");
  CHECK(profile.numbers[9] == Numbers{1'700'000'000'123'456'789});
  CHECK(profile.numbers[12] == Numbers{1});
}

TEST_CASE("the period of a profile of samples is theirs") {
  SampleReport sample;
  sample.snapshot.sampling.policy.mean_bytes = 524288;
  CHECK(Profile(sample.report()).numbers[12] == Numbers{524288});
}

TEST_CASE("each stack is a sample with its four numbers, leaf first") {
  const SampleReport sample;
  const Profile profile(sample.report());
  REQUIRE(profile.messages.at(2).size() == 4);
  CHECK(profile.stack(0) == Texts{"[stack unknown]@:0"});
  CHECK(profile.values(0) == Numbers{7, 70, 2, 3});
  CHECK(profile.stack(1) == Texts{"engine::load(char const*)@:0", "engine::parse@:0", "main@:0"});
  CHECK(profile.values(1) == Numbers{1000, 65536, 10, 40960});
  CHECK(profile.values(2) == Numbers{5, 5 << 20, 1, (1 << 20) - 1});
  CHECK(profile.stack(3) == Texts{"0x4040@:0"});
  CHECK(profile.values(3) == Numbers{1234567, 99, 0, 0});
}

TEST_CASE("where blocks are known, live ones have a label with their size") {
  SampleReport sample;
  sample.snapshot.totals.live_allocations = 3;
  alloctap::StackSummary& stack = sample.snapshot.stacks[1];
  stack.live_allocations = 3;
  stack.live_bytes = 60;
  for (const std::uint64_t size : {std::uint64_t{10}, std::uint64_t{40}, std::uint64_t{10}}) {
    static_cast<void>(
        sample.snapshot.blocks.push_back({.address = size, .size = size, .stack = stack.stack}));
  }
  const Profile profile(sample.report());
  REQUIRE(profile.messages.at(2).size() == 6);
  CHECK(profile.values(1) == Numbers{1, 40, 1, 40});
  CHECK(profile.values(2) == Numbers{2, 20, 2, 20});
  CHECK(profile.values(3) == Numbers{997, 65476, 0, 0});
  CHECK(profile.stack(2) == profile.stack(3));
  CHECK(profile.labels(1) == Texts{"bytes=40 bytes"});
  CHECK(profile.labels(2) == Texts{"bytes=10 bytes"});
  CHECK(profile.labels(3).empty());
}

TEST_CASE("inlined functions are lines of one location, the innermost first") {
  SampleReport sample;
  sample.names = {{SampleReport::kParse, SampleReport::kMain, "engine::next", "next.hpp", 7},
                  {SampleReport::kParse, SampleReport::kMain, "engine::parse", "parse.cpp", 42}};
  const Profile profile(sample.report());
  CHECK(profile.stack(2) ==
        Texts{"engine::next@next.hpp:7", "engine::parse@parse.cpp:42", "0x3030@:0"});
  CHECK(Profile::fields(profile.messages.at(2).at(2))[1].size() == 2);
}

TEST_CASE("locations lie in modules, which have build-ids, the program first") {
  static int place;
  SampleReport sample;
  sample.modules = ModuleTable::read();
  const auto address = reinterpret_cast<std::uintptr_t>(&place);
  const alloctap::Module* module = sample.modules.find(address);
  REQUIRE(module != nullptr);
  sample.program.executable = sample.modules.modules().back().path;
  sample.add({sample.intern({address + 1}), {1, 100, 0}, 1, 100});
  Profile profile(sample.report());
  const auto& mappings = profile.messages[3];
  REQUIRE(mappings.size() == sample.modules.modules().size());
  const auto first = Profile::fields(mappings[0]);
  CHECK(profile.texts[first.at(5).at(0)] == sample.program.executable);
  for (const pbf_reader& location : profile.messages[4]) {
    pbf_reader message = location;
    std::uint64_t mapping = 0;
    std::uint64_t where = 0;
    while (message.next()) {
      if (message.tag() == 2)
        mapping = message.get_uint64();
      else if (message.tag() == 3)
        where = message.get_uint64();
      else
        message.skip();
    }
    if (where == address) CHECK(mapping == sample.modules.index_of(*module) + 1);
  }
  for (const pbf_reader& mapping : mappings) {
    auto fields = Profile::fields(mapping);
    const alloctap::Module& told = sample.modules.modules()[fields[1].at(0) - 1];
    CHECK(fields[2].at(0) == told.start);
    CHECK(fields[3].at(0) == told.end);
    CHECK(profile.texts[fields[5].at(0)] == told.path);
    CHECK(profile.texts[fields[6].at(0)] == alloctap::BuildIdText(told).view());
    CHECK(fields[7] == Numbers{1});
    CHECK(fields[10] == Numbers{0});
  }
}

TEST_CASE("modules without any name leave naming to the reader") {
  SampleReport sample;
  sample.modules = ModuleTable::read();
  sample.names.clear();
  Profile profile(sample.report());
  CHECK(!profile.messages[3].empty());
  for (const pbf_reader& mapping : profile.messages[3]) {
    auto fields = Profile::fields(mapping);
    CHECK(fields[7] == Numbers{0});
    CHECK(fields[8] == Numbers{0});
    CHECK(fields[9] == Numbers{0});
  }
}

TEST_CASE("ids are there once, texts too, and texts are UTF-8") {
  SampleReport sample;
  sample.names[0].name = "bad\xFF";
  Profile profile(sample.report());
  for (const std::uint32_t field : {4u, 5u}) {
    std::set<std::uint64_t> ids;
    for (const pbf_reader& message : profile.messages[field]) {
      CHECK(ids.insert(Profile::fields(message)[1].at(0)).second);
    }
    CHECK(!ids.contains(0));
  }
  CHECK(std::set(profile.texts.begin(), profile.texts.end()).size() == profile.texts.size());
  CHECK(profile.stack(1).at(0) == "bad\xEF\xBF\xBD@:0");
}

TEST_CASE("the account is in the comments") {
  const SampleReport sample;
  Profile profile(sample.report());
  std::string comments;
  for (const std::uint64_t comment : profile.numbers[13]) comments += profile.texts[comment] + "\n";
  for (const char* part : {"/opt/game/bin/game", "4711", "1 dropped", "what nobody sees"}) {
    CHECK(comments.find(part) != comments.npos);
  }
}

TEST_CASE("a large profile, which goes out in pieces, is whole") {
  SampleReport sample;
  for (std::uintptr_t i = 0; i < 20'000; ++i) {
    sample.add({sample.intern({0x500000 + i, 0x3031}), {i, i, 0}, i, i});
  }
  const Profile profile(sample.report());
  CHECK(profile.messages.at(2).size() == 20'004);
  CHECK(profile.messages.at(4).size() == 20'006);
  CHECK(profile.values(10'000) == Numbers{9'996, 9'996, 9'996, 9'996});
}

TEST_CASE("stacks have their tag and their thread as labels") {
  const TaggedReport sample;
  const Profile profile(sample.report());
  REQUIRE(profile.messages.at(2).size() == 7);
  CHECK(profile.labels(0).empty());
  CHECK(profile.labels(4) == Texts{"tag=Game/Physics"});
  CHECK(profile.labels(5) == Texts{"tag=Game/Sound/Voice"});
  CHECK(profile.labels(6) == Texts{"tag=Game/Sound/Voice", "thread=game (4711)"});
}
