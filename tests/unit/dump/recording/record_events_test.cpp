// Events that a tracker logged come back from a record, and heaptrack sees them as they were.
#include "alloctap/dump/recording/record_events.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "alloctap/dump/heaptrack_dump.hpp"
#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/dump/record_dump.hpp"
#include "alloctap/dump/recording/saved_report.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/snapshot/replay.hpp"
#include "alloctap/status.hpp"
#include "tests/support/logged_program.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/unit/dump/heaptrack_file.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

struct One {};
struct Many {};
struct Short {};
using OneThread = LoggedConfig<One>;
using Threads = LoggedConfig<Many>;
using FullLog = LoggedConfig<Short, LoggingQueue<DirectQueue, EventChunk::kBytes>>;

/// A snapshot of a program that ran some steps more, and what dumps make of it.
template <class Config>
struct LoggedRun {
  explicit LoggedRun(std::size_t threads, std::size_t steps = 5'000) {
    const Session session = started<Tracker<Config>>();
    const auto program = std::make_unique<LoggedProgram<Config>>();
    threads == 1 ? program->run(steps, 1) : program->run_threads(threads, steps);
    snapshot = snapshot_of<Tracker<Config>>();
  }

  template <class Policy>
  [[nodiscard]] std::string dump(const Policy& policy) const {
    MemoryOutput output;
    CHECK(Tracker<Config>::dump(snapshot, policy, output).ok());
    return std::string(output.text());
  }

  Snapshot snapshot;
};

std::size_t count_differences(const Snapshot& snapshot) {
  Replay replay;
  REQUIRE(replay.run(snapshot));
  std::size_t count = 0;
  visit_replay_differences(snapshot, replay, [&](const ReplayDifference&) { ++count; });
  return count;
}

/// As heaptrack defines it: blocks freed in the event after an allocation of that size and stack.
std::uint64_t temporary_to_heaptrack(const Snapshot& snapshot) {
  using Kind = std::pair<std::uint64_t, StackId>;
  std::map<std::uintptr_t, Kind> live;
  std::vector<LoggedEvent> events;
  REQUIRE(snapshot.events.for_each([&](const LoggedEvent& event) { events.push_back(event); }));
  Kind last{};
  std::uint64_t temporary = 0;
  const auto free = [&](std::uintptr_t address) {
    const auto found = live.find(address);
    if (found == live.end()) return;
    temporary += found->second == last;
    last = {};
    live.erase(found);
  };
  for (std::size_t i = 0; i < events.size(); ++i) {
    const LoggedEvent& event = events[i];
    // With one thread, a block is put back by the next event.
    if (i + 1 < events.size() && events[i + 1].kind == LoggedKind::kPutBack) continue;
    if (event.kind == LoggedKind::kPutBack) continue;
    free(event.address);
    if (!event.adds_block()) continue;
    last = {event.size, event.stack};
    live[event.address] = last;
  }
  return temporary;
}

void check_heaptrack(const Snapshot& snapshot, const HeaptrackFile& file) {
  CHECK(file.unreadable.empty());
  CHECK(file.total.allocations == snapshot.totals.allocations);
  CHECK(file.total.leaked == static_cast<std::int64_t>(snapshot.totals.live_bytes));
  std::size_t wrong = 0;
  for (const StackSummary& stack : snapshot.stacks) {
    bool found = false;
    for (const auto& [name, cost] : file.stacks) {
      found = found || (cost.allocations == stack.total.allocations &&
                        cost.leaked == static_cast<std::int64_t>(stack.live_bytes));
    }
    wrong += found ? 0 : 1;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("a record keeps every event, of all threads") {
  const LoggedRun<Threads> run(3);
  const std::string record = run.dump(RecordDump{});
  SavedReport saved;
  CHECK(saved.read(record).ok());
  const Snapshot& snapshot = saved.report().snapshot;
  CHECK(snapshot.events.complete());
  CHECK(snapshot.events.count == run.snapshot.events.count);
  CHECK(count_differences(snapshot) == 0);
  std::vector<LoggedEvent> before;
  REQUIRE(run.snapshot.events.for_each([&](const LoggedEvent& e) { before.push_back(e); }));
  std::size_t wrong = 0;
  REQUIRE(snapshot.events.for_each([&](const LoggedEvent& event) {
    LoggedEvent expected = before[event.sequence];
    expected.stack = event.stack;
    wrong += event != expected;
  }));
  CHECK(wrong == 0);
  CHECK(render(HeaptrackDump{}, saved.report()) == run.dump(HeaptrackDump{}));
}

TEST_CASE("of a record that is cut short in its events, all else is there") {
  const LoggedRun<OneThread> run(1, 2'000);
  const std::string record = run.dump(RecordDump{});
  const std::size_t events = record.find(
      "\x06"
      "events\x06");
  REQUIRE(events != record.npos);
  for (std::size_t size = events; size + 32 < record.size(); size += 97) {
    SavedReport saved;
    CHECK(saved.read({record.data(), size}).code() == alloctap::StatusCode::kDataLoss);
    const Snapshot& snapshot = saved.report().snapshot;
    CHECK(snapshot.totals.allocations == run.snapshot.totals.allocations);
    CHECK_FALSE(snapshot.events.complete());
    CHECK(snapshot.events.count + snapshot.events.missed == run.snapshot.events.count);
    CHECK(snapshot.account.unlogged_events == snapshot.events.missed);
    const HeaptrackFile file(render(HeaptrackDump{}, saved.report()));
    CHECK(file.total.allocations == run.snapshot.totals.allocations);
    SavedReport again;
    const std::string copy = render(RecordDump{}, saved.report());
    CHECK(again.read(copy).ok());
    CHECK_FALSE(again.report().snapshot.events.complete());
  }
}

TEST_CASE("events that no log would have end the log, and are said") {
  const LoggedRun<OneThread> run(1, 500);
  const std::string record = run.dump(RecordDump{});
  const std::size_t first = record.find("time_step_ns", record.find("\x06"
                                                                    "events\x06")) +
                            12;
  REQUIRE(record[first] == 1);
  for (const std::size_t column : {1U, 2U}) {
    std::string changed = record;
    // An event of a kind that there is not; one of a thread that would be the 2 millionth.
    column == 1 ? changed.replace(first + 1, 1, "\x04")
                : changed.replace(first + 2, 1, "\xFF\xFF\x7F");
    SavedReport saved;
    CHECK(saved.read(changed).code() == alloctap::StatusCode::kDataLoss);
    CHECK(saved.report().snapshot.events.count == 0);
    CHECK(saved.report().snapshot.events.missed == run.snapshot.events.count);
  }
}

TEST_CASE("damage to another table leaves the events") {
  const LoggedRun<OneThread> run(1, 500);
  std::string record = run.dump(RecordDump{});
  const std::size_t table = record.find(
      "\x05"
      "sizes");
  REQUIRE(table != record.npos);
  const std::size_t first = record.find("live_bytes", table) + 10;
  REQUIRE(record[first] == 1);
  // A size class that there is not.
  REQUIRE(record[first + 1] == 0);
  record[first + 1] = '\x7F';
  SavedReport saved;
  CHECK(saved.read(record).code() == alloctap::StatusCode::kDataLoss);
  CHECK(saved.report().snapshot.events.count == run.snapshot.events.count);
  CHECK(saved.report().snapshot.events.complete());
}

TEST_CASE("heaptrack sees the events of one thread as they were, with the peak to the byte") {
  const LoggedRun<OneThread> run(1);
  const HeaptrackFile file(run.dump(HeaptrackDump{}));
  check_heaptrack(run.snapshot, file);
  CHECK(file.total.temporary == temporary_to_heaptrack(run.snapshot));
  CHECK(file.total.temporary > 500);
  CHECK(file.total.peak >= static_cast<std::int64_t>(run.snapshot.totals.peak_live_bytes) - 5'000);
  CHECK(file.total.peak <= static_cast<std::int64_t>(run.snapshot.totals.peak_live_bytes));
  CHECK(std::is_sorted(file.times.begin(), file.times.end()));
  CHECK(file.resident_pages.size() == run.snapshot.timeline.size());
}

TEST_CASE("heaptrack sees the events of threads that free each other's blocks") {
  const LoggedRun<Threads> run(4);
  check_heaptrack(run.snapshot, HeaptrackFile(run.dump(HeaptrackDump{})));
}

TEST_CASE("where not all events are in the log, heaptrack sees the totals, and dumps say so") {
  const LoggedRun<FullLog> run(1, 10'000);
  const std::string text = run.dump(HeaptrackDump{});
  const HeaptrackFile file(text);
  CHECK(file.total.allocations == run.snapshot.totals.allocations);
  CHECK(file.total.temporary == run.snapshot.totals.temporary_allocations);
  const std::string sentence = std::to_string(run.snapshot.events.missed) +
                               " events are in every number, but not in the event log";
  CHECK(text.find(sentence) != text.npos);
  CHECK(run.dump(TextDump{}).find("are in every number, but not in the event log") != text.npos);
  const std::string record = run.dump(RecordDump{});
  SavedReport saved;
  CHECK(saved.read(record).ok());
  CHECK(saved.report().snapshot.events.missed == run.snapshot.events.missed);
}

TEST_CASE("a file of events that would be too long is refused") {
  const LoggedRun<OneThread> run(1, 100);
  MemoryOutput output;
  const alloctap::Status status = Tracker<OneThread>::dump(
      run.snapshot, HeaptrackDump{.most_events = run.snapshot.events.count - 1}, output);
  CHECK(status.code() == alloctap::StatusCode::kResourceExhausted);
}
