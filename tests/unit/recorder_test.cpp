#include "alloctap/recorder.hpp"

#include <doctest/doctest.h>

#include <array>
#include <thread>
#include <vector>

#include "alloctap/snapshot/take_snapshot.hpp"
#include "alloctap/testing/scripted_stack.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::ScriptedStack;

/// Records blocks of an even size.
struct EvenSizes : SamplingPolicyArchetype {
  static bool should_record(ThreadState&, std::size_t size) noexcept { return size % 2 == 0; }
};

constexpr std::uintptr_t kOwnCaller = 0x77;

/// Each test has tables of its own.
template <class Test>
struct Config : DefaultConfig {
  using Stack = ScriptedStack;
  static constexpr Limits limits{.max_frames = 4};
  static bool is_own_call(const CallOrigin& origin) noexcept {
    return reinterpret_cast<std::uintptr_t>(origin.caller) == kOwnCaller;
  }
};

template <class Test>
struct SampledConfig : Config<Test> {
  using Sampling = EvenSizes;
};

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

constexpr std::array<std::uintptr_t, 2> kStack{0x100, 0x200};

/// Short words for what hooks say to a recorder.
template <class ConfigType>
struct Program {
  using Record = Recorder<ConfigType>;

  static void allocate(std::uintptr_t block, std::size_t size) {
    Record::on_allocate({.pointer = at(block), .size = size, .origin = {}});
  }
  static void free(std::uintptr_t block) {
    Record::on_deallocate({.pointer = at(block), .origin = {}});
  }
  static DetachedBlock begin_reallocate(std::uintptr_t block) {
    return Record::begin_reallocate({.pointer = at(block), .origin = {}});
  }
  static void reallocate(std::uintptr_t old, std::uintptr_t block, std::size_t size) {
    Record::finish_reallocate(begin_reallocate(old));
    allocate(block, size);
  }
  static Snapshot snapshot() {
    SnapshotBuilder builder(Record::meta(), Record::stacks());
    REQUIRE(builder.build().ok());
    return builder.take();
  }
};

struct CaptureTest;
struct OwnCallTest;
struct TemporaryTest;
struct OtherThreadTest;
struct ReallocationTest;
struct UnknownTest;
struct SamplingTest;
struct FramesTest;
struct MappingTest;

}  // namespace

TEST_CASE("an allocation is recorded under the stack that was captured for it") {
  using P = Program<Config<CaptureTest>>;
  ScriptedStack::play(kStack);
  P::allocate(0x1000, 64);
  const Snapshot snapshot = P::snapshot();
  REQUIRE(snapshot.stacks.size() == 1);
  const auto frames = snapshot.table->frames(snapshot.stacks[0].stack);
  CHECK(std::vector(frames.begin(), frames.end()) == std::vector(kStack.begin(), kStack.end()));
  CHECK(snapshot.stacks[0].live_bytes == 64);
}

TEST_CASE("a call that is not the program's is passed by") {
  using P = Program<Config<OwnCallTest>>;
  const CallOrigin own{.caller = at(kOwnCaller)};
  P::Record::on_allocate({.pointer = at(0x1000), .size = 10, .origin = own});
  P::Record::on_deallocate({.pointer = at(0x2000), .origin = own});
  CHECK_FALSE(P::Record::begin_reallocate({.pointer = at(0x3000), .origin = own}).known);
  P::Record::on_map({.address = at(0x10000), .length = 4096, .origin = own});
  DetachedMappings none =
      P::Record::begin_unmap({.address = at(0x10000), .length = 4096, .origin = own});
  CHECK(none.first == nullptr);
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.account.events == 0);
  CHECK(P::Record::counters().dropped == 0);
}

TEST_CASE("a block that is freed as the one allocated last is a temporary one") {
  using P = Program<Config<TemporaryTest>>;
  const auto temporary = [] { return P::snapshot().totals.temporary_allocations; };
  ScriptedStack::play(kStack);
  P::allocate(0x1000, 1);
  P::free(0x1000);
  CHECK(temporary() == 1);
  P::allocate(0x1000, 1);
  P::allocate(0x2000, 1);
  P::free(0x1000);
  CHECK(temporary() == 1);
  P::free(0x2000);
  CHECK(temporary() == 2);
  P::allocate(0x1000, 1);
  P::free(0x3000);
  P::free(0x1000);
  CHECK(temporary() == 3);
  P::allocate(0x1000, 1);
  P::reallocate(0x1000, 0x4000, 2);
  CHECK(temporary() == 4);
  P::free(0x4000);
  CHECK(temporary() == 5);
  P::free(0x4000);
  CHECK(temporary() == 5);
}

TEST_CASE("a block that another thread frees is no temporary one") {
  using P = Program<Config<OtherThreadTest>>;
  ScriptedStack::play(kStack);
  P::allocate(0x1000, 1);
  std::thread([] { P::free(0x1000); }).join();
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.totals.temporary_allocations == 0);
  CHECK(snapshot.totals.deallocations == 1);
}

TEST_CASE("a reallocation is one deallocation and one allocation of the new size") {
  using P = Program<Config<ReallocationTest>>;
  ScriptedStack::play(kStack);
  P::allocate(0x1000, 10);
  P::allocate(0x5000, 1);
  P::reallocate(0x1000, 0x2000, 30);
  Totals totals = P::snapshot().totals;
  CHECK(totals.allocations == 3);
  CHECK(totals.deallocations == 1);
  CHECK(totals.allocated_bytes == 41);
  CHECK(totals.live_allocations == 2);
  CHECK(totals.live_bytes == 31);
  CHECK(totals.temporary_allocations == 0);

  P::reallocate(0x2000, 0x2000, 5);
  totals = P::snapshot().totals;
  CHECK(totals.live_bytes == 6);

  P::Record::cancel_reallocate(P::begin_reallocate(0x2000));
  totals = P::snapshot().totals;
  CHECK(totals.deallocations == 2);
  CHECK(totals.live_allocations == 2);
  CHECK(totals.live_bytes == 6);

  P::Record::finish_reallocate(P::begin_reallocate(0x2000));
  CHECK(P::snapshot().totals.live_bytes == 1);
  CHECK(P::snapshot().account.unmatched_frees == 0);
}

TEST_CASE("what is freed or reallocated unknown is counted once, and changes nothing else") {
  using P = Program<Config<UnknownTest>>;
  ScriptedStack::play(kStack);
  P::free(0x1000);
  P::Record::cancel_reallocate(P::begin_reallocate(0x2000));
  CHECK(P::snapshot().account.unmatched_frees == 2);
  CHECK(P::snapshot().totals.live_allocations == 0);
  P::reallocate(0x3000, 0x4000, 10);
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.account.unmatched_frees == 3);
  CHECK(snapshot.totals.deallocations == 0);
  CHECK(snapshot.totals.live_bytes == 10);
}

TEST_CASE("an allocation that is not sampled is not recorded") {
  using P = Program<SampledConfig<SamplingTest>>;
  ScriptedStack::play(kStack);
  for (std::uintptr_t size = 1; size <= 10; ++size) P::allocate(0x1000 * size, size);
  const Totals totals = P::snapshot().totals;
  CHECK(totals.allocations == 5);
  CHECK(totals.live_bytes == 2 + 4 + 6 + 8 + 10);
}

TEST_CASE("frames are captured up to the limit, and walks that fail are counted") {
  using P = Program<Config<FramesTest>>;
  const std::vector<std::uintptr_t> deep{1, 2, 3, 4, 5, 6};
  ScriptedStack::play(deep);
  CHECK(P::Record::max_frames() == 4);
  P::allocate(0x1000, 1);
  CHECK(P::Record::counters().truncated_stacks == 1);
  P::Record::set_max_frames(2);
  P::allocate(0x2000, 1);
  P::Record::set_max_frames(0);
  CHECK(P::Record::max_frames() == 1);
  P::allocate(0x3000, 1);
  P::Record::set_max_frames(1000);
  CHECK(P::Record::max_frames() == 4);
  ScriptedStack::play(kStack, true);
  P::allocate(0x4000, 1);
  ScriptedStack::play({}, true);
  P::allocate(0x5000, 1);
  CHECK(P::Record::counters().truncated_stacks == 3);
  CHECK(P::Record::counters().failed_unwinds == 2);

  const Snapshot snapshot = P::snapshot();
  std::vector<std::size_t> depths;
  for (const StackSummary& stack : snapshot.stacks) {
    depths.push_back(snapshot.table->frames(stack.stack).size());
  }
  CHECK(depths == std::vector<std::size_t>{0, 4, 2, 1, 2});
}

TEST_CASE("mappings are recorded, taken out and put back") {
  using P = Program<Config<MappingTest>>;
  ScriptedStack::play(kStack);
  const MappingEvent all{.address = at(0x10000), .length = 0x4000, .origin = {}};
  const MappingEvent part{.address = at(0x11000), .length = 0x1000, .origin = {}};
  P::Record::on_map(all);
  DetachedMappings detached = P::Record::begin_unmap(part);
  CHECK(detached.first != nullptr);
  CHECK(P::snapshot().mapping_totals.live_bytes == 0x3000);
  P::Record::cancel_unmap(detached);
  CHECK(P::snapshot().mapping_totals.live_bytes == 0x4000);
  detached = P::Record::begin_unmap(part);
  P::Record::finish_unmap(detached);
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.mapping_totals.live_bytes == 0x3000);
  CHECK(snapshot.mapping_totals.unmappings == 1);
  REQUIRE(snapshot.mappings.size() == 1);
  CHECK(snapshot.table->frames(snapshot.mappings[0].stack).size() == 2);
}
