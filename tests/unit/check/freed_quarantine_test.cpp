// What becomes of blocks that were freed.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "alloctap/check/block_checker.hpp"
#include "alloctap/check/checks.hpp"
#include "alloctap/check/selectable_checks.hpp"
#include "tests/support/untouched_memory.hpp"
#include "tests/unit/check/checked_heap.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::CheckedHeap;
using alloctap::testing::UntouchedMemory;
using Action = ReleasePlan::Action;
using Kinds = std::vector<MisuseKind>;

using Kept = Checks<Quarantine<2>>;

bool was_filled(const std::byte* begin, std::size_t bytes) {
  return std::all_of(begin, begin + bytes,
                     [](std::byte byte) { return byte == std::byte{kFreedByte}; });
}

}  // namespace

TEST_CASE("the last freed blocks stay, and go in the order in which they were freed") {
  static constinit BlockChecker<Kept> checker;
  CheckedHeap heap(checker);
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(heap.allocate(50));
  for (std::byte* block : blocks) CHECK(heap.free(block) == Action::kRelease);
  CHECK(heap.given_back == std::vector<void*>{blocks[0], blocks[1], blocks[2]});
  CHECK(was_filled(blocks[4], 50));
  CHECK(heap.kinds() == Kinds{});
}

TEST_CASE("a write to a freed block is found when it goes at last") {
  static constinit BlockChecker<Kept> checker;
  CheckedHeap heap(checker);
  std::byte* const block = heap.allocate(50);
  heap.free(block);
  const StackId freed = heap.call;
  block[3] = std::byte{1};
  heap.free(heap.allocate(8));
  CHECK(heap.kinds() == Kinds{});
  heap.free(heap.allocate(8));
  REQUIRE(heap.kinds() == Kinds{MisuseKind::kWriteAfterFree});
  CHECK(heap.fault(0).changed.first == 3);
  CHECK(heap.fault(0).block.gone.stack == freed);
}

TEST_CASE("writes to a large freed block are found, whether it had been touched there or not") {
  static constinit BlockChecker<Kept> checker;
  CheckedHeap heap(checker);
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  const UntouchedMemory memory(3 * kBytes);
  const bool tells = alloctap::testing::tells_untouched();
  for (const std::size_t offset : {100'000U, 300'000U, 500'000U}) {
    CAPTURE(offset);
    const AllocationRequest wanted{.size = kBytes};
    const BlockPlan plan = checker.plan(wanted, 0);
    auto* const block = static_cast<std::byte*>(
        checker.adopt(plan, memory.begin() + (offset / 200'000) * kBytes, wanted, {}));
    std::memset(block + 300'000, 1, 20'000);
    heap.free(block);
    // As if the page had been new.
    std::memset(block + offset, 0, tells || offset == 300'000 ? 4096 : 0);
    if (offset == 500'000) block[offset + 9] = std::byte{3};
    for (int i = 0; i < 2; ++i) heap.free(heap.allocate(8));
  }
  REQUIRE(heap.kinds() == Kinds(2, MisuseKind::kWriteAfterFree));
  CHECK(heap.fault(0).changed.first == 300'000);
  CHECK(heap.fault(0).changed.count == 4096);
  CHECK(heap.fault(1).changed.first == 500'009);
  CHECK(heap.fault(1).changed.count == 1);
  CHECK(heap.fault(1).changed.expected == (tells ? 0 : kFreedByte));
}

TEST_CASE("what is kept is bounded in bytes, too, and what is larger than that goes at once") {
  using Chosen = SelectableChecks<struct BoundedBytes>;
  static constinit BlockChecker<Chosen> checker;
  CheckSettings settings;
  settings.blocks = true;
  settings.quarantine_blocks = 100;
  settings.quarantine_bytes = 1000;
  Chosen::select(settings);
  CheckedHeap heap(checker);
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(heap.allocate(400));
  std::byte* const large = heap.allocate(1001);
  heap.free(blocks[0]);
  heap.free(blocks[1]);
  CHECK(heap.given_back.empty());
  heap.free(large);
  CHECK(heap.given_back == std::vector<void*>{large});
  heap.free(blocks[2]);
  CHECK(heap.given_back == std::vector<void*>{large, blocks[0]});
}

TEST_CASE("frees are forgotten in the end, so that memory is bounded") {
  using Chosen = SelectableChecks<struct BoundedFrees>;
  static constinit BlockChecker<Chosen> checker;
  CheckSettings settings;
  settings.blocks = true;
  settings.remembered_frees = 4;
  Chosen::select(settings);
  CheckedHeap heap(checker);
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(heap.allocate(5000));
  for (std::byte* block : blocks) heap.free(block);
  CHECK(heap.free(blocks[0]) == Action::kPassOn);
  CHECK(heap.free(blocks[1]) == Action::kPassOn);
  CHECK(heap.free(blocks[2]) == Action::kRefuse);
}
