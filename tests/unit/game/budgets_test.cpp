#include "alloctap/game/budgets.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "alloctap/status.hpp"
#include "tests/unit/game/frames_fixture.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

struct HeldTest;
struct PerFrameTest;
struct NestedTest;
struct ZeroTest;
struct ChangedTest;
struct FullTest;
struct SharedTest;
struct ManyOffencesTest;

/// Those of one test.
std::vector<BudgetOffence> told;
void tell(const BudgetOffence& offence) noexcept {
  const std::unique_ptr<char[]> may_allocate = std::make_unique<char[]>(100);
  told.push_back(offence);
}

Tag tag_named(std::string_view path) {
  const alloctap::Result<Tag> tag = tag_at_path(path);
  REQUIRE(tag.ok());
  return *tag;
}

const LimitSummary& limit_of(const Snapshot& snapshot, std::size_t budget, BudgetKind kind) {
  return snapshot.frames.budgets[budget].limits[static_cast<std::size_t>(kind)];
}

}  // namespace

TEST_CASE("what a tag holds offends each time that it rises above its budget, once in a frame") {
  using G = Game<HeldTest>;
  told.clear();
  const Tag tag = tag_named("budgets_test/held");
  REQUIRE(G::Frames::set_budget(tag, {.held_bytes = 100}, {.on_offence = &tell}).ok());
  const tag_scope scope{tag};
  G::allocate(0x1000, 100);
  CHECK(told.empty());
  G::allocate(0x2000, 20, 0x777);
  G::allocate(0x3000, 30);
  REQUIRE(told.size() == 1);
  CHECK(told[0].tag == tag.id);
  CHECK(told[0].tag_name == "held");
  CHECK(told[0].kind == BudgetKind::kHeldBytes);
  CHECK(told[0].limit == 100);
  CHECK(told[0].value == 120);
  CHECK(told[0].frame == 0);
  G::Frames::mark();
  G::allocate(0x4000, 1);
  CHECK(told.size() == 1);
  G::free(0x1000);
  G::allocate(0x1000, 100);
  G::free(0x1000);
  G::allocate(0x1000, 100);
  REQUIRE(told.size() == 2);
  CHECK(told[1].frame == 1);
  const Snapshot snapshot = G::snapshot();
  CHECK(caller_of(snapshot, told[0].stack) == 0x777);
  REQUIRE(snapshot.frames.budgets.size() == 1);
  const LimitSummary& held = limit_of(snapshot, 0, BudgetKind::kHeldBytes);
  CHECK(held.limit == 100);
  CHECK(held.value == 151);
  CHECK(held.most == 151);
  CHECK(held.offences == 2);
  REQUIRE(snapshot.frames.offences.size() == 2);
  CHECK(snapshot.frames.offences[0].value == 120);
  CHECK(snapshot.frames.offences[0].time_ns > 0);
}

TEST_CASE("allocations and bytes of a frame offend once, and not while the program loads") {
  using G = Game<PerFrameTest>;
  told.clear();
  const Tag tag = tag_named("budgets_test/per frame");
  REQUIRE(G::Frames::set_budget(tag, {.allocations_per_frame = 3, .bytes_per_frame = 40},
                                {.on_offence = &tell})
              .ok());
  const tag_scope scope{tag};
  G::allocate_many(0x1000, 10, 10);
  CHECK(told.empty());
  G::Frames::mark();
  G::allocate_many(0x2000, 10, 10);
  REQUIRE(told.size() == 2);
  CHECK(told[0].kind == BudgetKind::kAllocationsPerFrame);
  CHECK(told[0].value == 4);
  CHECK(told[1].kind == BudgetKind::kBytesPerFrame);
  CHECK(told[1].value == 50);
  G::Frames::mark();
  G::allocate_many(0x3000, 3, 13);
  CHECK(told.size() == 2);
  G::Frames::mark();
  G::allocate(0x4000, 41);
  CHECK(told.size() == 3);
  const Snapshot snapshot = G::snapshot();
  CHECK(limit_of(snapshot, 0, BudgetKind::kAllocationsPerFrame).most == 10);
  CHECK(limit_of(snapshot, 0, BudgetKind::kAllocationsPerFrame).value == 1);
  CHECK(limit_of(snapshot, 0, BudgetKind::kBytesPerFrame).most == 100);
  CHECK(limit_of(snapshot, 0, BudgetKind::kBytesPerFrame).offences == 2);
}

TEST_CASE("what is inside of a tag counts for its budget, and for those further out") {
  using G = Game<NestedTest>;
  told.clear();
  const Tag outer = tag_named("budgets_test/nested");
  REQUIRE(G::Frames::set_budget(Tag{}, {.held_bytes = 1000}).ok());
  // Known before there is a budget nearer to it.
  const Tag known = tag_named("budgets_test/nested/known");
  {
    const tag_scope scope{known};
    G::allocate(0x1000, 5);
  }
  REQUIRE(G::Frames::set_budget(outer, {.held_bytes = 100, .held_already = 5}).ok());
  REQUIRE(G::Frames::set_budget(tag_named("budgets_test/nested/known/deep"), {}).ok());
  {
    const tag_scope scope{known};
    G::allocate(0x4000, 7);
    const tag_scope deep{"deep"};
    const tag_scope deeper{"deeper"};
    G::allocate(0x2000, 60);
  }
  G::allocate(0x3000, 300);
  const Snapshot snapshot = G::snapshot();
  REQUIRE(snapshot.frames.budgets.size() == 3);
  CHECK(limit_of(snapshot, 0, BudgetKind::kHeldBytes).value == 372);
  CHECK(limit_of(snapshot, 1, BudgetKind::kHeldBytes).value == 72);
  CHECK(limit_of(snapshot, 2, BudgetKind::kHeldBytes).value == 60);
  CHECK(limit_of(snapshot, 2, BudgetKind::kHeldBytes).limit == kUnlimited);
}

TEST_CASE("a budget of zero offends at the first allocation") {
  using G = Game<ZeroTest>;
  told.clear();
  const Tag tag = tag_named("budgets_test/zero");
  REQUIRE(G::Frames::set_budget(tag,
                                {.held_bytes = 0, .allocations_per_frame = 0, .bytes_per_frame = 0},
                                {.on_offence = &tell})
              .ok());
  G::Frames::mark();
  CHECK(told.empty());
  const tag_scope scope{tag};
  G::allocate(0x1000, 1);
  CHECK(told.size() == 3);
  G::allocate(0x2000, 1);
  CHECK(told.size() == 3);
}

TEST_CASE("a budget can be changed and lifted, and goes on counting") {
  using G = Game<ChangedTest>;
  told.clear();
  const Tag tag = tag_named("budgets_test/changed");
  REQUIRE(G::Frames::set_budget(tag, {.held_bytes = 10}, {.on_offence = &tell}).ok());
  const tag_scope scope{tag};
  G::allocate(0x1000, 10);
  REQUIRE(G::Frames::set_budget(tag, {}).ok());
  G::allocate(0x2000, 10);
  CHECK(told.empty());
  REQUIRE(G::Frames::set_budget(tag, {.held_bytes = 25}, {.on_offence = &tell}).ok());
  G::allocate(0x3000, 10);
  REQUIRE(told.size() == 1);
  CHECK(told[0].value == 30);
}

TEST_CASE("budgets that are one too many, and paths that are none, are refused") {
  using F = GameFramesOf<FullTest>;
  for (std::size_t i = 0; i < BudgetTable::kMaxCount; ++i) {
    REQUIRE(F::set_budget(tag_named("budgets_test/full/" + std::to_string(i)), {}).ok());
  }
  CHECK(F::set_budget(tag_named("budgets_test/full/63"), {}).ok());
  const alloctap::Status full = F::set_budget(tag_named("budgets_test/full/more"), {});
  CHECK(full.code() == alloctap::StatusCode::kResourceExhausted);
  CHECK(set_budget(std::string(201, 'x'), {}).code() == alloctap::StatusCode::kInvalidArgument);
  CHECK(set_budget("budgets_test/", {}).code() == alloctap::StatusCode::kInvalidArgument);
  CHECK(set_budget("/budgets_test", {}).code() == alloctap::StatusCode::kInvalidArgument);
  CHECK(tag_named("").id == kNoTag);
  CHECK(tag_named(std::string(200, 'x')).id != kNoTag);
  const RecordingScope section;
  CHECK(F::set_budget(Tag{}, {}).code() == alloctap::StatusCode::kFailedPrecondition);
}

TEST_CASE("of threads that exceed a budget together one is told") {
  using G = Game<SharedTest>;
  static std::atomic<int> times{0};
  const Tag tag = tag_named("budgets_test/shared");
  REQUIRE(G::Frames::set_budget(tag, {.held_bytes = 500, .allocations_per_frame = 500},
                                {.on_offence = [](const BudgetOffence&) noexcept { ++times; }})
              .ok());
  G::Frames::mark();
  std::array<std::thread, 2> threads;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads[i] = std::thread([&, i] {
      const tag_scope scope{tag};
      G::allocate_many(0x10000 * (i + 1), 300, 1, 0x100 + i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(times == 2);
  const Snapshot snapshot = G::snapshot();
  REQUIRE(snapshot.frames.offences.size() == 2);
  CHECK(snapshot.frames.offences[0].value == 501);
  CHECK(limit_of(snapshot, 0, BudgetKind::kHeldBytes).value == 600);
}

TEST_CASE("the last offences are kept, and the others counted") {
  using G = Game<ManyOffencesTest>;
  const Tag tag = tag_named("budgets_test/many");
  REQUIRE(G::Frames::set_budget(tag, {.allocations_per_frame = 0}).ok());
  const tag_scope scope{tag};
  for (std::size_t i = 0; i < BudgetTable::kKeptOffences + 5; ++i) {
    G::Frames::mark();
    G::allocate(0x1000 + i * 16, 1);
  }
  const Snapshot snapshot = G::snapshot();
  CHECK(snapshot.frames.offences.size() == BudgetTable::kKeptOffences);
  CHECK(snapshot.frames.forgotten_offences == 5);
  CHECK(snapshot.frames.offences[0].frame == 6);
}
