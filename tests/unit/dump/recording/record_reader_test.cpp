#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/dump/record_dump.hpp"
#include "alloctap/dump/recording/record_format.hpp"
#include "alloctap/dump/recording/saved_report.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/status.hpp"
#include "tests/support/sample_report.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::DumpWriter;
using alloctap::MemoryOutput;
using alloctap::RecordReader;
using alloctap::RecordWriter;
using alloctap::SavedReport;
using enum alloctap::RecordKind;

/// What `write(RecordWriter&)` writes, without an end unless it writes one.
template <class Write>
std::string written_record(Write&& write) {
  MemoryOutput output;
  DumpWriter writer(output);
  RecordWriter record(writer);
  write(record);
  REQUIRE(writer.finish().ok());
  return std::string(output.text());
}

std::string a_table() {
  return written_record([](RecordWriter& record) {
    record.begin_table("numbers",
                       {{kText, "key"}, {kNumber, "value"}, {kSigned, "change"}, {kList, "all"}});
    for (const std::int64_t number : {std::int64_t{0}, INT64_MIN, INT64_MAX, std::int64_t{-1}}) {
      record.row("key", static_cast<std::uint64_t>(number), number);
      record.begin_list(2);
      record.number(1);
      record.number(UINT64_MAX);
    }
    record.end_table();
    record.finish();
  });
}

std::vector<std::int64_t> read_changes(const std::string& record, alloctap::Status& status) {
  std::vector<std::int64_t> changes;
  RecordReader reader(record);
  status = reader.open();
  if (!status.ok()) return changes;
  while (reader.next_table()) {
    while (reader.next_row()) changes.push_back(reader.signed_number("change"));
  }
  status = reader.status();
  return changes;
}

}  // namespace

TEST_CASE("a reader has every value of every row") {
  const std::string record = a_table();
  RecordReader rows(record);
  REQUIRE(rows.open().ok());
  REQUIRE(rows.next_table());
  CHECK(rows.table() == "numbers");
  REQUIRE(rows.next_row());
  REQUIRE(rows.next_row());
  CHECK(rows.text("key") == "key");
  CHECK(rows.number("value") == static_cast<std::uint64_t>(INT64_MIN));
  CHECK(rows.signed_number("change") == INT64_MIN);
  REQUIRE(rows.list("all").size() == 2);
  CHECK(rows.list("all")[1] == UINT64_MAX);
  CHECK(rows.number("no such column") == 0);
  CHECK(rows.number("change") == 0);
  CHECK(rows.text("value").empty());
  CHECK(rows.list("key").empty());
  CHECK_FALSE(rows.next_table());
  CHECK(rows.status().ok());
}

TEST_CASE("a record that was cut short is read up to the cut") {
  const std::string record = a_table();
  alloctap::Status status;
  CHECK(read_changes(record, status) == std::vector<std::int64_t>{0, INT64_MIN, INT64_MAX, -1});
  CHECK(status.ok());
  std::size_t most = 0;
  for (std::size_t size = 0; size < record.size(); ++size) {
    const std::size_t rows = read_changes(record.substr(0, size), status).size();
    CHECK_FALSE(status.ok());
    CHECK(rows >= most);
    most = rows;
  }
  CHECK(most == 4);
  CHECK(status.message() == "is damaged or was cut short, at byte " +
                                std::to_string(record.size() - 1) + " of " +
                                std::to_string(record.size() - 1));
}

TEST_CASE("what is no record, and a newer one, are told apart") {
  alloctap::Status status;
  read_changes("{\"schema\":\"alloctap.heap/1\"}", status);
  CHECK(status == alloctap::Status::invalid_argument("is no record of alloctap"));
  std::string newer = a_table();
  newer[alloctap::kRecordMagic.size()] = 2;
  read_changes(newer, status);
  CHECK(status == alloctap::Status::invalid_argument(
                      "is a record of version 2; this program reads 1 and below"));
}

TEST_CASE("a report passes over tables and columns that it does not know") {
  const std::string record = written_record([](RecordWriter& writer) {
    writer.begin_table("moons", {{kText, "name"}, {kList, "craters"}});
    writer.begin_row();
    writer.text("Io");
    writer.begin_list(1);
    writer.number(7);
    writer.end_table();
    writer.begin_table("allocations", {{kText, "colour"},
                                       {kNumber, "stack"},
                                       {kNumber, "live_bytes"},
                                       {kNumber, "live_allocations"}});
    writer.row("red", alloctap::kUnknownStack, 100u, 1u);
    writer.end_table();
    writer.finish();
  });
  SavedReport saved;
  CHECK(saved.read(record).ok());
  REQUIRE(saved.report().snapshot.stacks.size() == 1);
  CHECK(saved.report().snapshot.stacks[0].live_bytes == 100);
}

TEST_CASE("a report whose rows refer to what is not there is damaged, and has the rest") {
  const std::string record = written_record([](RecordWriter& writer) {
    writer.begin_table("stacks", {{kNumber, "id"}, {kList, "frames"}});
    writer.begin_row();
    writer.number(5);
    writer.begin_list(1);
    writer.number(9);
    writer.end_table();
    writer.begin_table("allocations", {{kNumber, "stack"}, {kNumber, "live_bytes"}});
    writer.row(5u, 100u);
    writer.end_table();
    writer.finish();
  });
  SavedReport saved;
  CHECK(saved.read(record).code() == alloctap::StatusCode::kDataLoss);
  REQUIRE(saved.report().snapshot.stacks.size() == 1);
  CHECK(saved.report().snapshot.stacks[0].stack == alloctap::kUnknownStack);
}

TEST_CASE(
    "rows of a game that refer to what is not there are left out, and the record is damaged") {
  const auto check_damaged = [](auto write) {
    const std::string record = written_record([&](RecordWriter& writer) {
      writer.begin_table("game", {{kNumber, "frames"}});
      writer.row(3u);
      writer.end_table();
      write(writer);
      writer.end_table();
      writer.finish();
    });
    SavedReport saved;
    CHECK(saved.read(record).code() == alloctap::StatusCode::kDataLoss);
    const alloctap::Snapshot& snapshot = saved.report().snapshot;
    CHECK(snapshot.frames.known);
    CHECK(snapshot.frames.frames == 3);
    CHECK(snapshot.frames.tags.empty());
    CHECK(snapshot.frames.last.empty());
    CHECK(snapshot.frames.histograms == alloctap::FrameHistory().histograms);
    for (const auto& list : snapshot.frames.worst) CHECK(list.empty());
    CHECK(snapshot.frames.budgets.empty());
    CHECK(snapshot.frames.offences.empty());
    CHECK(snapshot.freed.blocks.empty());
  };
  check_damaged([](RecordWriter& writer) {
    writer.begin_table("game tags", {{kNumber, "tag"}});
    writer.row(500u);
  });
  check_damaged([](RecordWriter& writer) {
    writer.begin_table("game frames", {{kNumber, "first_tag"}, {kNumber, "tags"}});
    writer.row(0u, 1u);
    writer.row(1u, 0u);
  });
  check_damaged([](RecordWriter& writer) {
    writer.begin_table("game histograms",
                       {{kText, "measure"}, {kNumber, "class"}, {kNumber, "frames"}});
    writer.row("allocations", 65u, 1u);
    writer.row("colour", 1u, 1u);
  });
  check_damaged([](RecordWriter& writer) {
    writer.begin_table(
        "game worst",
        {{kText, "measure"}, {kText, "slowest_call.call"}, {kNumber, "slowest_call.tag"}});
    writer.row("colour", "allocate", 0u);
    writer.row("allocations", "think", 0u);
    writer.row("allocations", "allocate", 7u);
  });
  check_damaged([](RecordWriter& writer) {
    writer.begin_table("game stacks", {{kText, "measure"}, {kNumber, "place"}});
    writer.row("allocations", 0u);
    writer.row("colour", 0u);
  });
  for (const char* table : {"game budgets", "game offences"}) {
    check_damaged([&](RecordWriter& writer) {
      writer.begin_table(table, {{kText, "kind"}, {kNumber, "tag"}});
      writer.row("held_bytes", 1u);
      writer.row("colour", 0u);
    });
  }
  check_damaged([](RecordWriter& writer) {
    writer.begin_table("freed", {{kNumber, "stack"}, {kNumber, "thread"}});
    writer.row(alloctap::kUnknownStack, 0u);
  });
}

TEST_CASE("a record of a report that was cut short makes a report") {
  const SampleReport sample;
  const std::string record = render(alloctap::RecordDump{}, sample.report());
  for (std::size_t size = 0; size < record.size(); size += 7) {
    const std::string part = record.substr(0, size);
    SavedReport saved;
    CHECK_FALSE(saved.read(part).ok());
    CHECK(render(alloctap::TextDump{}, saved.report()).ends_with('\n'));
  }
}
