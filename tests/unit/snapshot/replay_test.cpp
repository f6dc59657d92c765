// What the events of a log add up to is what the tracker counted.
#include "alloctap/snapshot/replay.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "alloctap/queue/buffer_queue.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/logged_program.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

std::vector<std::string> differences(const Snapshot& snapshot) {
  Replay replay;
  REQUIRE(replay.run(snapshot));
  std::vector<std::string> names;
  visit_replay_differences(snapshot, replay, [&](const ReplayDifference& difference) {
    names.push_back(std::string(difference.name) + " of " + std::to_string(difference.stack) +
                    ": " + std::to_string(difference.recorded) + ", replayed " +
                    std::to_string(difference.replayed));
  });
  return names;
}

void check_no_difference(const Snapshot& snapshot) {
  for (const std::string& name : differences(snapshot)) FAIL_CHECK(name);
}

template <class Config>
Snapshot run_program(std::size_t threads, std::size_t steps) {
  const Session session = started<Tracker<Config>>();
  const auto program = std::make_unique<LoggedProgram<Config>>();
  if (threads == 1) {
    program->run(steps, 1);
  } else {
    program->run_threads(threads, steps);
  }
  return snapshot_of<Tracker<Config>>();
}

struct Alone {};
struct Several {};
struct Largest {};
struct Buffered {};
struct Changed {};
struct Paused {};
struct Full {};
struct Moments {};
struct UnderWay {};
struct Forked {};
struct NoMemory {};

}  // namespace

TEST_CASE("the events of one thread add up to all that was counted, its peak to the byte") {
  const Snapshot snapshot = run_program<LoggedConfig<Alone>>(1, 20'000);
  CHECK(snapshot.events.complete());
  CHECK(snapshot.totals.temporary_allocations > 1000);
  CHECK(snapshot.account.unseen_frees > 100);
  CHECK(*snapshot.account.unmatched_frees > 100);
  Replay replay;
  REQUIRE(replay.run(snapshot));
  CHECK(peak_tolerance(snapshot, replay) == 0);
  check_no_difference(snapshot);
}

TEST_CASE("the events of threads that free each other's blocks add up to all that was counted") {
  const Snapshot snapshot = run_program<LoggedConfig<Several>>(4, 20'000);
  check_no_difference(snapshot);
}

TEST_CASE("the peak of threads may differ by what each can have logged and not counted") {
  using Config = LoggedConfig<Largest>;
  using Hook = Config::Hook;
  const Session session = started<Tracker<Config>>();
  Hook::on_allocate(at(0x10'0000), 100);
  std::thread([] {
    Hook::on_allocate(at(0x20'0000), 70'000);
    Hook::on_free(at(0x20'0000));
    Hook::on_allocate(at(0x20'0000), 50);
  }).join();
  const Snapshot snapshot = snapshot_of<Tracker<Config>>();
  Replay replay;
  REQUIRE(replay.run(snapshot));
  CHECK(replay.most_bytes_under_way() == 70'100);
  CHECK(peak_tolerance(snapshot, replay) == 2 * 4096 + 70'100);
}

TEST_CASE("events that a queue delivers later are in the log at once") {
  using Config = LoggedConfig<Buffered, LoggingQueue<BufferQueue>>;
  const Snapshot snapshot = run_program<Config>(1, 20'000);
  Replay replay;
  REQUIRE(replay.run(snapshot));
  CHECK(replay.totals().live_bytes == snapshot.totals.live_bytes);
  CHECK(replay.totals().allocations == snapshot.totals.allocations);
  CHECK(replay.totals().temporary_allocations == snapshot.totals.temporary_allocations);
}

TEST_CASE("a number that the events do not add up to is named") {
  Snapshot snapshot = run_program<LoggedConfig<Changed>>(1, 1'000);
  ++snapshot.totals.deallocations;
  ++snapshot.totals.peak_live_bytes;
  snapshot.stacks[1].live_bytes += 5;
  ++snapshot.stacks[2].total.temporary_allocations;
  const auto names = differences(snapshot);
  REQUIRE(names.size() == 4);
  CHECK(names[0].starts_with("deallocations of 0: "));
  CHECK(names[1].starts_with("peak of live bytes of 0: "));
  CHECK(names[2].starts_with("live bytes of "));
  CHECK(names[3].starts_with("temporary allocations of "));
}

TEST_CASE("a reallocation that is under way is no difference") {
  using Config = LoggedConfig<UnderWay>;
  using Hook = Config::Hook;
  const Session session = started<Tracker<Config>>();
  Hook::on_allocate(at(0x10'0000), 100);
  const DetachedBlock detached = Hook::begin_reallocate(at(0x10'0000));
  check_no_difference(snapshot_of<Tracker<Config>>());
  Hook::end_reallocate(detached, at(0x10'0000), 200);
  check_no_difference(snapshot_of<Tracker<Config>>());
}

TEST_CASE("each snapshot has the events up to its moment, whatever comes later") {
  using Config = LoggedConfig<Moments>;
  const Session session = started<Tracker<Config>>();
  const auto program = std::make_unique<LoggedProgram<Config>>();
  std::vector<Snapshot> snapshots;
  std::thread other([&] { program->run(30'000, 2); });
  for (std::uint64_t i = 0; i < 20; ++i) {
    program->run(500, i + 10);
    snapshots.push_back(snapshot_of<Tracker<Config>>());
  }
  other.join();
  std::uint64_t count = 0;
  for (const Snapshot& snapshot : snapshots) {
    CHECK(snapshot.events.count > count);
    count = snapshot.events.count;
    check_no_difference(snapshot);
  }
}

TEST_CASE("what is allocated in a pause is in no number and not in the log") {
  using Config = LoggedConfig<Paused>;
  const Session session = started<Tracker<Config>>();
  const auto program = std::make_unique<LoggedProgram<Config>>();
  program->run(1'000, 1);
  Tracker<Config>::pause();
  program->run(1'000, 2);
  Tracker<Config>::resume();
  program->run(1'000, 3);
  CHECK(differences(snapshot_of<Tracker<Config>>()).empty());
}

TEST_CASE("a full log says so, and numbers go on") {
  using Config = LoggedConfig<Full, LoggingQueue<DirectQueue, EventChunk::kBytes>>;
  const Snapshot snapshot = run_program<Config>(1, 20'000);
  CHECK_FALSE(snapshot.events.complete());
  CHECK(snapshot.events.count > 1'000);
  CHECK(snapshot.account.unlogged_events == snapshot.events.missed);
  CHECK(snapshot.events.count + snapshot.events.missed > 20'000);
  CHECK_FALSE(differences(snapshot).empty());
}

TEST_CASE("the log of a child of fork goes on where its parent's was") {
  using Config = LoggedConfig<Forked>;
  const Session session = started<Tracker<Config>>();
  const auto program = std::make_unique<LoggedProgram<Config>>();
  program->run(3'000, 1);
  const std::uint64_t before = snapshot_of<Tracker<Config>>().events.count;
  CHECK(holds_in_child([&] {
    program->run(3'000, 2);
    const Snapshot snapshot = snapshot_of<Tracker<Config>>();
    return snapshot.events.count > before && differences(snapshot).empty();
  }));
  program->run(3'000, 3);
  CHECK(differences(snapshot_of<Tracker<Config>>()).empty());
}

TEST_CASE("a replay that gets no memory says so") {
  const Snapshot snapshot = run_program<LoggedConfig<NoMemory>>(1, 1'000);
  bool ran = true;
  {
    Replay replay;
    const StarvedArena starved;
    ran = replay.run(snapshot);
  }
  CHECK_FALSE(ran);
}
