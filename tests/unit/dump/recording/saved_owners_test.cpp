// Tags and owners in records that are not in order.
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/dump/recording/record_format.hpp"
#include "alloctap/dump/recording/record_tables.hpp"
#include "alloctap/dump/recording/saved_report.hpp"
#include "alloctap/status.hpp"

namespace {

using namespace alloctap;
using enum RecordKind;

/// A record of two tags, the second inside of `parent`, and a stack that belongs to `tag` and
/// `thread`.
std::string record_of(std::uint64_t parent, std::string_view name, std::uint64_t tag,
                      std::uint64_t thread = 0) {
  MemoryOutput output;
  DumpWriter writer(output);
  RecordWriter record(writer);
  record.begin_table("numbers", {{kText, "key"}, {kNumber, "value"}});
  record.row(std::string_view("tags"), 2U);
  record.end_table();
  record.begin_table("tags", {{kNumber, "parent"}, {kText, "name"}});
  record.row(0U, std::string_view("Game"));
  record.row(parent, name);
  record.end_table();
  record.begin_table("frames", {{kNumber, "address"}, {kNumber, "module"}});
  record.row(0x1000U, 0U);
  record.end_table();
  record.begin_table("stacks",
                     {{kNumber, "id"}, {kNumber, "tag"}, {kNumber, "thread"}, {kList, "frames"}});
  record.row(7U, tag, thread);
  record.begin_list(1);
  record.number(0);
  record.end_table();
  record.finish();
  REQUIRE(writer.finish().ok());
  return std::string(output.text());
}

}  // namespace

TEST_CASE("tags of a record have the ids that they had") {
  const std::string record = record_of(1, "Physics", 2, 3);
  SavedReport saved;
  CHECK(saved.read(record).ok());
  const Snapshot& snapshot = saved.report().snapshot;
  REQUIRE(snapshot.tags != nullptr);
  CHECK(snapshot.tags->name(2) == "Physics");
  CHECK(snapshot.tags->parent(2) == 1);
  CHECK(snapshot.table->owner(kFirstStack) == StackOwner{.tag = 2, .thread = 3});
}

TEST_CASE("what is wrong with tags is said, and the rest is read") {
  for (const std::string& record :
       {record_of(2, "its own parent", 1), record_of(7, "no such parent", 1),
        record_of(0, "Game", 1), record_of(1, "", 1), record_of(UINT64_MAX, "far", 1),
        record_of(1, "Physics", 3), record_of(1, "Physics", UINT64_MAX),
        record_of(1, "Physics", 1, 65'536)}) {
    SavedReport saved;
    const alloctap::Status status = saved.read(record);
    CHECK(status.code() == alloctap::StatusCode::kDataLoss);
    const Snapshot& snapshot = saved.report().snapshot;
    CHECK(snapshot.tags->name(1) == "Game");
    CHECK(snapshot.table->frames(kFirstStack).size() == 1);
  }
}
