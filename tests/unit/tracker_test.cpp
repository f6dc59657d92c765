#include "alloctap/impl/tracker.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/status.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/piece_output.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

template <class Test>
struct Config : ScriptedConfig<Test> {
  using Symbolizer = FakeSymbolizer;
  static constexpr Limits limits{.max_frames = 3};
};

template <class Test>
struct BufferedConfig : Config<Test> {
  using Queue = BufferQueue;
};

/// Knows that something is wrong with its names.
struct NotingSymbolizer : FakeSymbolizer {
  static constexpr SymbolizerFeatures features{.note = true};
  static std::string_view note() noexcept { return "of yesterday's build"; }
};

template <class Test>
struct NotingConfig : Config<Test> {
  using Symbolizer = NotingSymbolizer;
};

constexpr std::array<std::uintptr_t, 2> kStack{0x1011, 0x2021};
constexpr std::array<std::uintptr_t, 1> kOtherStack{0x3031};

struct LifeTest;
struct TwiceTest;
struct NumbersTest;
struct DumpTest;
struct NoteTest;
struct BufferedTest;
struct ThreadsTest;
struct BlocksTest;
struct GrowthTest;
struct LeaksTest;

}  // namespace

TEST_CASE("a tracker records while its session lives, and keeps what it knows") {
  using T = Tracker<Config<LifeTest>>;
  ScriptedStack::play(kStack);
  T::Hook::on_allocate(at(0x1000), 1);
  CHECK_FALSE(T::running());
  CHECK(snapshot_of<T>().totals.allocations == 0);
  {
    Session session = started<T>();
    CHECK(T::running());
    T::Hook::on_allocate(at(0x2000), 10);
    const Session moved = std::move(session);
    T::Hook::on_allocate(at(0x3000), 100);
    CHECK(T::running());
  }
  CHECK_FALSE(T::running());
  T::Hook::on_free(at(0x2000));
  CHECK(snapshot_of<T>().totals.live_bytes == 110);
  CHECK(T::live_bytes() == 110);

  Session again = started<T>();
  T::Hook::on_free(at(0x2000));
  again.end();
  CHECK_FALSE(T::running());
  CHECK(snapshot_of<T>().totals.live_bytes == 100);
}

TEST_CASE("a tracker has one session, and says what to do about another") {
  using T = Tracker<Config<TwiceTest>>;
  Session session = started<T>();
  const auto second = T::start();
  CHECK(second.status().code() == alloctap::StatusCode::kFailedPrecondition);
  CHECK(says(second.status(), "has a session already; end that one first"));
  CHECK(T::running());
  session.end();
  CHECK(T::start().ok());
  CHECK_FALSE(T::running());
}

TEST_CASE("a snapshot tells what each thread did") {
  using T = Tracker<Config<ThreadsTest>>;
  const Session session = started<T>();
  ScriptedStack::play(kStack);
  T::Hook::on_allocate(at(0x1000), 100);
  os::ThreadId other = 0;
  std::thread([&] {
    other = os::current_thread_id();
    ScriptedStack::play(kOtherStack);
    T::Hook::on_allocate(at(0x2000), 20);
    T::Hook::on_allocate(at(0x3000), 3);
    T::Hook::on_free(at(0x1000));
  }).join();
  const Snapshot snapshot = snapshot_of<T>();
  const auto row = [&](os::ThreadId id) {
    const auto* found = std::find_if(snapshot.threads.begin(), snapshot.threads.end(),
                                     [id](const auto& thread) { return thread.thread_id == id; });
    REQUIRE(found != snapshot.threads.end());
    return *found;
  };
  CHECK(row(os::current_thread_id()).alive);
  CHECK(row(os::current_thread_id()).total.allocated_bytes == 100);
  CHECK(row(os::current_thread_id()).net_bytes == 100);
  CHECK(row(other).total.allocations == 2);
  CHECK(row(other).total.allocated_bytes == 23);
  CHECK(row(other).deallocations == 1);
  CHECK(row(other).net_bytes == -77);
}

TEST_CASE("a tracker gives every live block, and the modules, to who asks") {
  using T = Tracker<Config<BlocksTest>>;
  const Session session = started<T>();
  ScriptedStack::play(kStack);
  T::Hook::on_allocate(at(0x2000), 20);
  T::Hook::on_allocate(at(0x1000), 10);
  const auto snapshot = T::snapshot({.blocks = true});
  REQUIRE(snapshot.ok());
  REQUIRE(snapshot->blocks.size() == 2);
  CHECK(snapshot->blocks[0].address == 0x1000);
  CHECK(snapshot->blocks[1].size == 20);
  CHECK(snapshot->table->frames(snapshot->blocks[1].stack)[0] == kStack[0]);
  const auto modules = T::modules();
  REQUIRE(modules.ok());
  CHECK(modules->find(reinterpret_cast<std::uintptr_t>(&started<T>)) != nullptr);
}

TEST_CASE("a tracker tells what leaked, but for what suppressions name") {
  using T = Tracker<Config<LeaksTest>>;
  const Session session = started<T>();
  ScriptedStack::play(kStack);
  T::Hook::on_allocate(at(0x1000), 10);
  ScriptedStack::play(kOtherStack);
  T::Hook::on_allocate(at(0x2000), 5);
  FakeSymbolizer::know(std::array{FakeSymbolizer::Function{0x3000, 0x4000, "pool::grow", "", 0}});
  Suppressions suppressions;
  REQUIRE(suppressions.add("leak:pool::*", "rules").ok());
  const Snapshot snapshot = snapshot_of<T>();
  const auto leaks = T::leaks(snapshot, suppressions);
  REQUIRE(leaks.ok());
  CHECK(leaks->leaked.live_bytes == 10);
  CHECK(leaks->suppressed.live_bytes == 5);
  CHECK(leaks->rules[0].stacks == 1);
}

TEST_CASE("a tracker tells what some work left behind") {
  using T = Tracker<Config<GrowthTest>>;
  const Session session = started<T>();
  ScriptedStack::play(kStack);
  T::Hook::on_allocate(at(0x1000), 10);
  T::Hook::on_allocate(at(0x1800), 5);
  const auto growth = T::growth_over([] {
    T::Hook::on_free(at(0x1000));
    ScriptedStack::play(kOtherStack);
    T::Hook::on_allocate(at(0x2000), 7);
    T::Hook::on_allocate(at(0x3000), 8);
    T::Hook::on_free(at(0x3000));
  });
  REQUIRE(growth.ok());
  CHECK(growth->total == HeapChange{0, -3, 2, 15, 1});
  REQUIRE(growth->stacks.size() == 2);
  CHECK(growth->stacks[0].change == HeapChange{-1, -10, 0, 0, 0});
  CHECK(growth->stacks[1].change == HeapChange{1, 7, 2, 15, 1});
  CHECK(growth->table->frames(growth->stacks[1].stack)[0] == kOtherStack[0]);
}

TEST_CASE("the numbers of a snapshot are those that the program told") {
  using T = Tracker<Config<NumbersTest>>;
  using Hook = T::Hook;
  const Session session = started<T>();
  ScriptedStack::play(kStack);
  Hook::on_allocate(at(0x1000), 100);
  Hook::on_allocate(at(0x2000), 200);
  Hook::on_free(at(0x2000));
  ScriptedStack::play(kOtherStack, true);
  Hook::end_reallocate(Hook::begin_reallocate(at(0x1000)), at(0x3000), 50);
  Hook::end_reallocate(Hook::begin_reallocate(at(0x3000)), nullptr, 1000);
  Hook::on_free(at(0x9000));
  Hook::on_map(at(0x100000), 0x3000);
  Hook::on_unmap(at(0x101000), 0x1000);

  const Snapshot snapshot = snapshot_of<T>();
  CHECK(snapshot.totals.allocations == 3);
  CHECK(snapshot.totals.deallocations == 2);
  CHECK(snapshot.totals.allocated_bytes == 350);
  CHECK(snapshot.totals.live_allocations == 1);
  CHECK(snapshot.totals.live_bytes == 50);
  CHECK(snapshot.totals.peak_live_bytes == 300);
  CHECK(snapshot.totals.temporary_allocations == 1);
  CHECK(snapshot.account.unmatched_frees == 1);
  CHECK(snapshot.account.dropped == 0);
  CHECK(snapshot.account.failed_unwinds == 2);
  CHECK(snapshot.account.events == 3 + 2 + 1 + 2);
  CHECK(snapshot.account.consistent);
  CHECK(snapshot.mapping_totals.live_bytes == 0x2000);
  REQUIRE(snapshot.stacks.size() == 2);
  CHECK(snapshot.stacks[0].total.allocations == 2);
  CHECK(snapshot.stacks[0].live_allocations == 0);
  CHECK(snapshot.stacks[1].live_bytes == 50);
}

TEST_CASE("a report says what the symbolizer knows to be wrong with its names") {
  using T = Tracker<NotingConfig<NoteTest>>;
  MemoryOutput output;
  REQUIRE(T::dump(TextDump{}, output).ok());
  CHECK(output.text().find("\n  names    of yesterday's build\n  account  ") !=
        std::string_view::npos);
}

TEST_CASE("a dump is the report that the policy makes, in the output") {
  using T = Tracker<Config<DumpTest>>;
  const std::array<FakeSymbolizer::Function, 1> names{{{0x1000, 0x2000, "load_level", "", 0}}};
  FakeSymbolizer::know(names);
  ScriptedStack::play(kStack);
  {
    const Session session = started<T>();
    T::Hook::on_allocate(at(0x1000), 12345);
    T::set_max_frames(2);
  }
  MemoryOutput output;
  REQUIRE(T::dump(TextDump{}, output).ok());
  const std::string text(output.text());
  std::array<char, 4096> path{};
  const std::string program(os::executable_path(path));
  CHECK(text.find("who holds the memory of " + program + " (pid ") != text.npos);
  CHECK(text.find("hook     manual, stacks by scripted, at most 2 frames") != text.npos);
  CHECK(text.find("unseen   what the program does not report") != text.npos);
  CHECK(text.find("12.1 KiB in 1 block (12,345 bytes)") != text.npos);
  CHECK(text.find("    load_level   0x1010\n    ??   0x2020\n") != text.npos);

  SUBCASE("of a snapshot that was taken before") {
    const Snapshot before = snapshot_of<T>();
    const Session session = started<T>();
    T::Hook::on_free(at(0x1000));
    MemoryOutput later;
    REQUIRE(T::dump(before, TextDump{}, later).ok());
    CHECK(later.text().find("(12,345 bytes)") != std::string_view::npos);
    T::Hook::on_allocate(at(0x1000), 12345);
  }
  SUBCASE("and it is committed once, unless writing failed") {
    PieceOutput pieces;
    CHECK(T::dump(TextDump{}, pieces).ok());
    CHECK(pieces.commits == 1);
    PieceOutput full{.pieces_accepted = 0};
    CHECK(T::dump(TextDump{}, full) == alloctap::Status::data_loss("full"));
    CHECK(full.commits == 0);
  }
  FakeSymbolizer::know({});
}

TEST_CASE("a snapshot holds all that was told before it, whatever the queue") {
  using T = Tracker<BufferedConfig<BufferedTest>>;
  ScriptedStack::play(kStack);
  Session session = started<T>();
  for (std::uintptr_t i = 1; i <= 1000; ++i) T::Hook::on_allocate(at(16 * i), 10);
  CHECK(snapshot_of<T>().totals.live_bytes == 10'000);
  std::thread([] {
    for (std::uintptr_t i = 1; i <= 500; ++i) T::Hook::on_free(at(16 * i));
  }).join();
  CHECK(snapshot_of<T>().totals.live_bytes == 5'000);
  for (std::uintptr_t i = 501; i <= 600; ++i) T::Hook::on_free(at(16 * i));
  session.end();
  CHECK(snapshot_of<T>().totals.live_bytes == 4'000);
  CHECK(snapshot_of<T>().account.unmatched_frees == 0);
}
