#include "alloctap/snapshot/ownership_matrix.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <thread>

#include "alloctap/sample/poisson_by_bytes.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/thread_owners.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::at;
using alloctap::testing::BufferedScriptedConfig;
using alloctap::testing::says;
using alloctap::testing::ScriptedConfig;
using alloctap::testing::ScriptedStack;

template <class Test>
struct OwnedConfig : ScriptedConfig<Test> {
  using Tags = ThreadOwners;
};

struct OwnedBufferedConfig : BufferedScriptedConfig<OwnedBufferedConfig> {
  using Tags = ThreadOwners;
};

struct OwnedSampledConfig : ScriptedConfig<OwnedSampledConfig> {
  using Tags = ThreadOwners;
  using Sampling = PoissonByBytes<4096>;
};

constexpr std::array<std::array<std::uintptr_t, 1>, 2> kOwnedStacks{{{0x100}, {0x200}}};

template <class Tracker>
Snapshot snapshot_with_freed() {
  auto snapshot = Tracker::snapshot({.freed = true});
  REQUIRE(snapshot.ok());
  return *std::move(snapshot);
}

template <class Config>
alloctap::Status status_with() {
  using Tracker = alloctap::Tracker<Config>;
  const Session session = testing::started<Tracker>();
  ScriptedStack::play(kOwnedStacks[0]);
  Tracker::Hook::on_allocate(at(0x1000), 10);
  Tracker::Hook::on_free(at(0x1000));
  return ownership_matrix(snapshot_with_freed<Tracker>()).status();
}

}  // namespace

TEST_CASE("a matrix tells which thread gave back what which thread had allocated") {
  using Tracker = alloctap::Tracker<OwnedConfig<struct HandedOver>>;
  using Hook = Tracker::Hook;
  const Session session = testing::started<Tracker>();
  ScriptedStack::play(kOwnedStacks[0]);
  for (std::uintptr_t i = 1; i <= 4; ++i) Hook::on_allocate(at(0x1000 * i), 100);
  ScriptedStack::play(kOwnedStacks[1]);
  Hook::on_allocate(at(0x5000), 30);
  Hook::on_free(at(0x1000));
  os::ThreadId other = 0;
  std::thread([&other] {
    other = os::current_thread_id();
    ScriptedStack::play(kOwnedStacks[1]);
    Hook::on_allocate(at(0x6000), 7);
    Hook::on_free(at(0x2000));
    Hook::on_free(at(0x3000));
    // Moved: the old block ends on this thread.
    Hook::end_reallocate(Hook::begin_reallocate(at(0x5000)), at(0x7000), 60);
    // Not moved: nothing has ended.
    Hook::end_reallocate(Hook::begin_reallocate(at(0x4000)), nullptr, 60);
  }).join();
  Hook::on_free(at(0x6000));

  const Snapshot snapshot = snapshot_with_freed<Tracker>();
  const auto matrix = ownership_matrix(snapshot);
  REQUIRE(matrix.ok());
  CHECK(matrix->complete);
  const auto id_of = [&](std::uint32_t place) { return snapshot.threads[place].thread_id; };
  REQUIRE(matrix->threads.size() == 3);
  const OwnershipRow& handed = matrix->threads[0];
  CHECK(handed.changes_hands());
  CHECK(id_of(handed.allocating) == os::current_thread_id());
  CHECK(id_of(handed.freeing) == other);
  CHECK(handed.blocks == 3);
  CHECK(handed.bytes == 230);
  CHECK_FALSE(matrix->threads[1].changes_hands());
  CHECK(matrix->threads[1].bytes == 100);
  CHECK(id_of(matrix->threads[2].allocating) == other);
  CHECK(id_of(matrix->threads[2].freeing) == os::current_thread_id());
  CHECK(matrix->threads[2].bytes == 7);

  REQUIRE(matrix->stacks.size() == 4);
  CHECK(matrix->stacks[0].bytes == 200);
  CHECK(*snapshot.table->frames(matrix->stacks[0].stack).begin() == 0x100);
  CHECK(matrix->stacks[2].bytes == 30);
  CHECK(*snapshot.table->frames(matrix->stacks[2].stack).begin() == 0x200);
}

TEST_CASE("where it cannot be told who gave back what, a matrix says why") {
  using Tracker = alloctap::Tracker<OwnedConfig<struct NotAsked>>;
  const Session session = testing::started<Tracker>();
  CHECK(says(ownership_matrix(testing::snapshot_of<Tracker>()).status(), "not asked"));
  CHECK(ownership_matrix(snapshot_with_freed<Tracker>()).ok());
  CHECK(says(status_with<ScriptedConfig<struct NoOwners>>(), "ThreadOwners"));
  CHECK(says(status_with<OwnedBufferedConfig>(), "DirectQueue"));
  CHECK(says(status_with<OwnedSampledConfig>(), "samples"));
}

TEST_CASE("a matrix may be incomplete, but not without memory of its own") {
  using Tracker = alloctap::Tracker<OwnedConfig<struct Incomplete>>;
  const Session session = testing::started<Tracker>();
  ScriptedStack::play(kOwnedStacks[0]);
  Tracker::Hook::on_allocate(at(0x1000), 10);
  Tracker::Hook::on_free(at(0x1000));
  Snapshot snapshot = snapshot_with_freed<Tracker>();
  snapshot.freed.knowledge = FreedKnowledge::kIncomplete;
  CHECK_FALSE(ownership_matrix(snapshot)->complete);
  alloctap::Status status;
  {
    const testing::StarvedArena starved;
    status = ownership_matrix(snapshot).status();
  }
  CHECK(status.code() == alloctap::StatusCode::kResourceExhausted);
}
