#include "alloctap/check/block_checker.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "alloctap/check/checks.hpp"
#include "alloctap/check/selectable_checks.hpp"
#include "tests/unit/check/checked_heap.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::CheckedHeap;
using alloctap::testing::Guards;
using Action = ReleasePlan::Action;
using Kinds = std::vector<MisuseKind>;

bool all_are(const std::byte* begin, std::size_t bytes, std::uint8_t value) {
  return std::all_of(begin, begin + bytes,
                     [&](std::byte byte) { return byte == std::byte{value}; });
}

}  // namespace

TEST_CASE("a block in order is no fault, whatever its size and alignment") {
  static constinit BlockChecker<Level10> checker;
  CheckedHeap heap(checker);
  for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 100U, 4096U, 100'000U}) {
    for (const std::size_t alignment : {0U, 8U, 16U, 64U, 4096U}) {
      CAPTURE(size);
      CAPTURE(alignment);
      std::byte* const block = heap.allocate(size, AllocationKind::kAlignedAlloc, alignment);
      CHECK(reinterpret_cast<std::uintptr_t>(block) % std::max<std::size_t>(alignment, 16) == 0);
      std::fill_n(block, size, std::byte{0x55});
      CHECK(heap.free(block) == Action::kRelease);
    }
  }
  heap.sweep();
  CHECK(heap.kinds() == Kinds{});
}

TEST_CASE("one changed byte beside a block is found where it is, on both sides") {
  static constinit BlockChecker<Guards> checker;
  CheckedHeap heap(checker);
  for (const int offset : {-32, -8, -1, 24, 31, 55}) {
    CAPTURE(offset);
    std::byte* const block = heap.allocate(24);
    const StackId allocated = heap.call;
    block[offset] = std::byte{7};
    const std::size_t before = heap.kinds().size();
    CHECK(heap.free(block) == Action::kRelease);
    REQUIRE(heap.kinds().size() == before + 1);
    const Misuse fault = heap.fault(before);
    CHECK(fault.kind == (offset < 0 ? MisuseKind::kWriteBefore : MisuseKind::kWriteBehind));
    CHECK(fault.changed.count == 1);
    CHECK(fault.changed.first == offset);
    CHECK(fault.changed.found[0] == 7);
    CHECK(fault.block.allocated.stack == allocated);
    CHECK(fault.found.stack == heap.call);
    CHECK_FALSE(fault.block.freed);
  }
}

TEST_CASE("a block that is freed twice is refused, with who freed it first") {
  static constinit BlockChecker<Checks<KindMismatch>> checker;
  CheckedHeap heap(checker);
  std::byte* const block = heap.allocate(24);
  const StackId allocated = heap.call;
  CHECK(heap.free(block) == Action::kRelease);
  const StackId freed = heap.call;
  CHECK(heap.free(block) == Action::kRefuse);
  CHECK(heap.given_back.size() == 1);
  REQUIRE(heap.kinds() == Kinds{MisuseKind::kDoubleFree});
  const Misuse fault = heap.fault(0);
  CHECK(fault.block.allocated.stack == allocated);
  CHECK(fault.block.gone.stack == freed);
  CHECK(fault.block.freed);
  CHECK(fault.block.size == 24);
}

TEST_CASE("a release in another way is told, and the block goes as it came") {
  static constinit BlockChecker<Checks<KindMismatch>> checker;
  CheckedHeap heap(checker);
  CHECK(heap.free(heap.allocate(8, AllocationKind::kNew)) == Action::kRelease);
  CHECK(heap.free(heap.allocate(8, AllocationKind::kNew), DeallocationKind::kDelete, 9) ==
        Action::kRelease);
  CHECK(heap.free(heap.allocate(8, AllocationKind::kAlignedNew, 64),
                  DeallocationKind::kAlignedDelete, 8, 32) == Action::kRelease);
  CHECK(heap.free(heap.allocate(8, AllocationKind::kNew), DeallocationKind::kDelete, 8) ==
        Action::kRelease);
  CHECK(heap.kinds() ==
        Kinds{MisuseKind::kKindMismatch, MisuseKind::kWrongSize, MisuseKind::kWrongAlignment});
  CHECK(heap.given_back.size() == 4);
}

TEST_CASE("kinds are nobody's affair where nobody asks") {
  static constinit BlockChecker<Guards> checker;
  CheckedHeap heap(checker);
  CHECK(heap.free(heap.allocate(8, AllocationKind::kNew)) == Action::kRelease);
  CHECK(heap.kinds() == Kinds{});
}

TEST_CASE("a look at all blocks finds what was written beside live and into freed ones, once") {
  static constinit BlockChecker<Level10> checker;
  CheckedHeap heap(checker);
  std::byte* const live = heap.allocate(10);
  std::byte* const freed = heap.allocate(10);
  heap.free(freed);
  heap.sweep();
  CHECK(heap.kinds() == Kinds{});
  live[10] = std::byte{1};
  freed[0] = std::byte{1};
  heap.sweep();
  Kinds kinds = heap.kinds();
  std::sort(kinds.begin(), kinds.end());
  CHECK(kinds == Kinds{MisuseKind::kWriteBehind, MisuseKind::kWriteAfterFree});
  CHECK(heap.fault(0).by_sweep);
  heap.sweep();
  CHECK(heap.free(live) == Action::kRelease);
  CHECK(heap.kinds().size() == 2);
}

TEST_CASE("blocks are filled as they come and go, but for what calloc promised") {
  static constinit BlockChecker<Checks<FillOnAllocate<>, FillOnFree<4>, Quarantine<9>>> checker;
  CheckedHeap heap(checker);
  std::byte* const block = heap.allocate(64);
  CHECK(all_are(block, 64, kAllocatedByte));
  std::byte* const zeroed = heap.allocate(64, AllocationKind::kMalloc, 0, true);
  CHECK(all_are(zeroed, 64, 0x11));
  heap.free(block);
  CHECK(all_are(block, 4, kFreedByte));
  CHECK(all_are(block + 4, 60, kAllocatedByte));
}

TEST_CASE("room to expand may be used, and what is behind it may not") {
  static constinit BlockChecker<Checks<Expand<16>, RearGuard<32>>> checker;
  CheckedHeap heap(checker);
  std::byte* const block = heap.allocate(24);
  CHECK(heap.asked == 24 + 16 + 32);
  CHECK(checker.extent(block).size == 40);
  block[39] = std::byte{1};
  heap.sweep();
  CHECK(heap.kinds() == Kinds{});
  block[40] = std::byte{1};
  heap.free(block);
  CHECK(heap.kinds() == Kinds{MisuseKind::kWriteBehind});
}

TEST_CASE("room alone needs no record") {
  static constinit BlockChecker<Checks<Expand<16>, FillOnAllocate<8>>> checker;
  CheckedHeap heap(checker);
  std::byte* const block = heap.allocate(24);
  CHECK(heap.asked == 40);
  CHECK(all_are(block, 8, kAllocatedByte));
  CHECK(checker.extent(block).verdict == BlockLookup::Verdict::kUnknown);
  CHECK(heap.free(block) == Action::kPassOn);
}

TEST_CASE(
    "what no allocator has is asked for as it is, and what comes all the same is left alone") {
  static constinit BlockChecker<Checks<FrontGuard<32>, RearGuard<32>, FillOnAllocate<>>> checker;
  // As libstdc++ does, whose aligned operator new rounds the size up to 0.
  const AllocationRequest wanted{
      .size = SIZE_MAX - 8, .alignment = 16, .kind = AllocationKind::kAlignedNew};
  const BlockPlan plan = checker.plan(wanted, 0);
  CHECK(plan.bytes == wanted.size);
  CHECK(plan.front == 0);
  alignas(16) std::byte raw[16]{};
  CHECK(checker.adopt(plan, raw, wanted, {}) == raw);
  CHECK(std::ranges::count(raw, std::byte{0}) == 16);
  CHECK(checker.extent(raw).verdict == BlockLookup::Verdict::kUnknown);
}

TEST_CASE("an alignment that is no power of two is rounded up to one, as the allocator does") {
  static constinit BlockChecker<Level10> checker;
  for (const std::size_t alignment : {3U, 17U, 24U, 100U}) {
    CAPTURE(alignment);
    const BlockPlan plan = checker.plan({.size = 10, .alignment = alignment}, 0);
    CHECK(plan.front == std::bit_ceil(std::max<std::size_t>(alignment, 32)));
    CHECK(plan.bytes == plan.front + 10 + 32);
    checker.drop(plan, 0);
  }
}

TEST_CASE("of what an alignment leaves in front of a block 4 KiB are a guard") {
  static constinit BlockChecker<Level10> checker;
  CheckedHeap heap(checker);
  constexpr std::size_t kAlignment = std::size_t{1} << 16;
  std::byte* const block = heap.allocate(100, AllocationKind::kAlignedAlloc, kAlignment);
  block[-4097] = std::byte{1};
  CHECK(block[-4096] == std::byte{kFrontGuardByte});
  heap.free(block);
  CHECK(heap.kinds().empty());
  std::byte* const overrun = heap.allocate(100, AllocationKind::kAlignedAlloc, kAlignment);
  overrun[-4096] = std::byte{1};
  heap.free(overrun);
  CHECK(heap.kinds() == Kinds{MisuseKind::kWriteBefore});
}

TEST_CASE("a block of a huge alignment has no guard in front, which would be as large") {
  static constinit BlockChecker<Level10> checker;
  for (const std::size_t alignment : {std::size_t{4} << 20, std::size_t{1} << 40}) {
    const BlockPlan plan = checker.plan({.size = 10, .alignment = alignment}, 0);
    CHECK(plan.front == 0);
    CHECK(plan.bytes == 10 + 32);
    checker.drop(plan, 0);
  }
}

TEST_CASE(
    "what a call of the tracker's own brings in the place of a freed block is not taken for it") {
  static constinit BlockChecker<Checks<KindMismatch>> checker;
  CheckedHeap heap(checker);
  std::byte* const block = heap.allocate(24);
  heap.free(block);
  checker.register_unchecked_block(block);
  CHECK(heap.free(block) == Action::kPassOn);
  CHECK(heap.kinds() == Kinds{});
}

TEST_CASE("a block that is not looked after may end in the program's hands, where all are known") {
  static constinit BlockChecker<Level10> checker;
  CheckedHeap heap(checker);
  alignas(16) std::byte memory[32];
  checker.register_unchecked_block(memory);
  CHECK(heap.free(memory) == Action::kPassOn);
  CHECK(heap.free(memory) == Action::kRefuse);
  checker.register_unchecked_block(memory);
  CHECK(checker.release_unchecked(memory).action == Action::kPassOn);
  CHECK(heap.free(memory) == Action::kRefuse);
  CHECK(heap.free(memory + 8) == Action::kRefuse);
  checker.register_unchecked_block(memory + 8);
  CHECK(heap.free(memory + 8) == Action::kPassOn);
  CHECK(heap.free(memory + 4) == Action::kRefuse);
}

TEST_CASE("the tracker may free a block of the program's, with its guards") {
  static constinit BlockChecker<Guards> checker;
  CheckedHeap heap(checker);
  std::byte* const block = heap.allocate(24);
  const ReleasePlan plan = checker.release_unchecked(block);
  CHECK(plan.action == Action::kRelease);
  CHECK(plan.block == block - 32);
  CHECK(checker.release_unchecked(block).action == Action::kPassOn);
  // Its record serves others.
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(checker.release_unchecked(heap.allocate(24)).action == Action::kRelease);
  }
  const BlockPlan last = checker.plan({.size = 24}, 0);
  CHECK(last.number < 1000);
  checker.drop(last, 0);
}

TEST_CASE("checks that are not chosen look at nothing") {
  using Chosen = SelectableChecks<struct NothingChosen>;
  static constinit BlockChecker<Chosen> checker;
  CheckedHeap heap(checker);
  std::byte* const block = heap.allocate(24);
  CHECK(heap.asked == 24);
  CHECK(heap.free(block) == Action::kPassOn);
}

TEST_CASE("a heap that goes ends its blocks, which are looked at and never given back") {
  static constinit BlockChecker<Level10> checker;
  CheckedHeap heap(checker);
  std::byte* const kept = heap.allocate(24);
  CHECK(heap.free(kept) == Action::kRelease);
  std::byte* const first = heap.allocate(24);
  std::byte* const second = heap.allocate(24);
  kept[5] = std::byte{7};
  second[24] = std::byte{7};
  DeallocationEvent gone;
  std::uint32_t cursor = 0;
  CHECK(checker.end_next(gone, cursor, {.stack = 1}, heap.found) == first);
  CHECK(checker.end_next(gone, cursor, {.stack = 1}, heap.found) == second);
  CHECK(checker.end_next(gone, cursor, {.stack = 1}, heap.found) == nullptr);
  CHECK(heap.kinds() == Kinds{MisuseKind::kWriteAfterFree, MisuseKind::kWriteBehind});
  CHECK(heap.fault(1).address == reinterpret_cast<std::uintptr_t>(second));
  CHECK(heap.free(first) == Action::kRefuse);
  for (int i = 0; i < 200; ++i) heap.free(heap.allocate(24));
  CHECK(std::count(heap.given_back.begin(), heap.given_back.end(), kept - 32) == 0);
  heap.sweep();
  CHECK(heap.kinds().size() == 3);
}
