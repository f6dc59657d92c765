// What a tracker says that it holds is what the kernel says, and as little as promised.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include "alloctap/impl/tracker.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/process_memory.hpp"
#include "tests/support/thread_sanitizer.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::kThreadSanitizer;
using alloctap::testing::process_memory;
using alloctap::testing::ProcessMemory;
using alloctap::testing::ScriptedStack;

template <class Index>
struct IndexConfig : DefaultConfig {
  using Hook = ManualHook<IndexConfig>;
  using Stack = ScriptedStack;
  using Meta = MemoryMetaContainer<Index>;
};

constexpr std::uint64_t kRecordedBlocks = 500'000;
constexpr std::uint64_t kBlockBytes = 72;
/// With what an allocator needs itself.
constexpr std::uint64_t kDistance = 80;
constexpr std::uintptr_t kHeap = 0x5500'0000'0000;

/// What recording `kRecordedBlocks` takes, as the kernel sees it, and as the tracker says it.
template <class Tracker>
void record_blocks(ProcessMemory& taken, std::size_t& said) {
  std::uintptr_t frame = 0x1000;
  ScriptedStack::play({&frame, 1});
  process_memory();
  const ProcessMemory before = process_memory();
  const std::size_t said_before = Arena::mapped_bytes();
  for (std::uint64_t i = 0; i < kRecordedBlocks; ++i) {
    frame = 0x1000 + i % 1000;
    Tracker::Hook::on_allocate(reinterpret_cast<void*>(kHeap + i * kDistance), kBlockBytes);
  }
  said = Arena::mapped_bytes() - said_before;
  const ProcessMemory after = process_memory();
  taken = {after.mapped - before.mapped, after.resident - before.resident};
}

/// The stack of the test, the C++ library's buffers; a sanitizer's shadow of all that is touched.
constexpr std::size_t kOthers = kThreadSanitizer ? std::size_t{1} << 30 : 256 * 1024;

}  // namespace

TEST_CASE_TEMPLATE("a tracker says what it holds, within a page of a thousand", Index, ShadowIndex,
                   FlatHashIndex) {
  using T = Tracker<IndexConfig<Index>>;
  const auto session = T::start();
  REQUIRE(session.ok());
  ProcessMemory taken;
  std::size_t said = 0;
  record_blocks<T>(taken, said);
  CHECK(taken.mapped <= said + kOthers);
  CHECK(said <= taken.mapped + kOthers);
  CHECK(taken.resident <= said + kOthers);

  const auto snapshot = T::snapshot();
  REQUIRE(snapshot.ok());
  CHECK(snapshot->totals.live_allocations == kRecordedBlocks);
  CHECK(snapshot->account.tracker_bytes >= said);
  if constexpr (std::is_same_v<Index, FlatHashIndex>) {
    CHECK(said <= 40 * kRecordedBlocks);
  } else {
    CHECK(said <= kDistance * kRecordedBlocks / 2 + (1 << 20));
  }
}
