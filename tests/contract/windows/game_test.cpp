// What is told of a game on Windows: its frames, budgets and scopes that must not allocate.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "alloctap/game/allocation_scopes.hpp"
#include "alloctap/game/budgets.hpp"
#include "alloctap/hook/windows_import_hook.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/named_pools.hpp"
#include "alloctap/observe/observers.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/scoped_tags.hpp"
#include "tests/contract/hooks/hooked_program.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::escape;

struct GameConfig : DefaultConfig {
  using Hook = WindowsImportHook;
  using Tags = ScopedTags;
  using Pools = NamedPools;
  using Observers = alloctap::Observers<Frames, AllocationScopes>;
};
using GameTracker = Tracker<GameConfig>;

constexpr std::size_t kTerrain = 1 << 20;

void play_a_frame() {
  const tag_scope streaming{"game_test"};
  for (int i = 0; i < 1000; ++i) std::free(escape(std::malloc(100)));
  const HANDLE heap = ::GetProcessHeap();
  CHECK(::HeapFree(heap, 0, escape(::HeapAlloc(heap, 0, kTerrain))) != 0);
}

const StackOfFrame* stack_of_terrain(const WorstFrame& frame) {
  const auto* const end = frame.stacks.data() + frame.stack_count;
  const auto* const found = std::find_if(frame.stacks.data(), end, [](const StackOfFrame& stack) {
    return stack.allocated_bytes == kTerrain;
  });
  return found == end ? nullptr : found;
}

/// The tag that the plug-in's function is in, as this program has it.
std::string tag_in_plugin() {
  const HMODULE plugin = ::LoadLibraryA(ALLOCTAP_WINDOWS_PLUGIN);
  REQUIRE(plugin != nullptr);
  const auto in_tag = reinterpret_cast<void (*)(void (*)())>(
      reinterpret_cast<void*>(::GetProcAddress(plugin, "plugin_in_tag")));
  const bool is_there = in_tag != nullptr;
  REQUIRE(is_there);
  static std::string name;
  in_tag([] { name = process_tags.name(current_tag().id); });
  ::FreeLibrary(plugin);
  return name;
}

}  // namespace

TEST_CASE(
    "a library says its tags and pools, whether it is loaded before the tracker starts or later") {
  const HMODULE before = ::LoadLibraryA(ALLOCTAP_WINDOWS_PLUGIN);
  const auto session = GameTracker::start();
  REQUIRE(session.ok());
  CHECK(tag_in_plugin() == "plugin");
  ::FreeLibrary(before);
  CHECK(::GetModuleHandleA("alloctap_windows_plugin.dll") == nullptr);
  CHECK(tag_in_plugin() == "plugin");
  const alloctap::Result<Snapshot> snapshot = GameTracker::snapshot();
  REQUIRE(snapshot.ok());
  const PoolSummary* const pool = snapshot->pools.find("plugin");
  REQUIRE(pool != nullptr);
  CHECK(pool->allocations == 2);
  CHECK(pool->allocated_bytes == 16);
  CHECK(pool->destroyed);
}

TEST_CASE("frames on Windows have the time of heap calls, and hold budgets") {
  const auto session = GameTracker::start();
  REQUIRE(session.ok());
  REQUIRE(set_budget("game_test", {.held_bytes = 2 * kTerrain, .bytes_per_frame = kTerrain}).ok());
  REQUIRE(frame_mark());
  play_a_frame();
  REQUIRE(frame_mark());
  const auto snapshot = GameTracker::snapshot();
  REQUIRE(snapshot.ok());
  const FrameHistory& frames = snapshot->frames;
  REQUIRE(frames.last.size() == 1);
  const FrameCounts& counts = frames.last[0].counts;
  CHECK(counts.allocations >= 1001);
  CHECK(counts.deallocations >= 1001);
  CHECK(counts.allocated_bytes >= kTerrain + 100'000);
  const auto& slowest = frames.worst[static_cast<std::size_t>(FrameMeasure::kAllocatorTime)];
  REQUIRE(slowest.size() == 1);
  CHECK(slowest[0].slowest.duration_ns > 0);
  CHECK_FALSE(slowest[0].slowest.has_usage);
  const StackOfFrame* const terrain = stack_of_terrain(slowest[0]);
  REQUIRE(terrain != nullptr);
  // Both of its calls are large.
  CHECK(terrain->allocator_ns > 1);
  CHECK(counts.allocator_ns > terrain->allocator_ns);
  REQUIRE(frames.offences.size() == 1);
  CHECK(frames.offences[0].kind == BudgetKind::kBytesPerFrame);
  CHECK(frames.offences[0].tag_name == "game_test");
}

TEST_CASE("what a thread of Windows allocates in a scope that must not is an offence") {
  const auto session = GameTracker::start();
  REQUIRE(session.ok());
  const NoAllocationScope drawing{"draw"};
  const AllocationScope counting;
  CHECK_FALSE(drawing.offends());
  std::free(escape(std::malloc(100)));
  CHECK(drawing.offends());
  CHECK(counting.sums().allocations == 1);
  CHECK(counting.sums().frees == 1);
}
