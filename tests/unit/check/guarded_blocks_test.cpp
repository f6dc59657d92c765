// Blocks of a checker beside inaccessible pages.
#include "alloctap/check/guarded_blocks.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "alloctap/check/block_checker.hpp"
#include "alloctap/check/checks.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "tests/support/live_object.hpp"

namespace {

using namespace alloctap;
using Action = ReleasePlan::Action;

/// A checker of its own, which stays: its addresses are set aside for ever.
template <class... Choices>
class GuardedHeap {
 public:
  std::byte* allocate(std::size_t size, std::size_t alignment = 0,
                      AllocationKind kind = AllocationKind::kMalloc) {
    const AllocationRequest wanted{.size = size, .alignment = alignment, .kind = kind};
    const BlockPlan plan = checker.place(wanted, 0);
    if (plan.place == nullptr) return nullptr;
    return static_cast<std::byte*>(checker.adopt(plan, plan.place, wanted, next_call()));
  }

  Action free(void* pointer, DeallocationKind kind = DeallocationKind::kFree) {
    DeallocationEvent gone;
    gone.pointer = pointer;
    gone.kind = kind;
    const ReleasePlan plan = checker.release(gone, next_call(), found);
    if (plan.action == Action::kRelease) CHECK_FALSE(checker.retire(plan, 0));
    return plan.action;
  }

  bool fault(const void* address, os::FaultAccess access) {
    const os::MemoryFault fault{.address = reinterpret_cast<std::uintptr_t>(address),
                                .access = access};
    return checker.guards(address) && checker.note_fault(fault, next_call(), found);
  }

  [[nodiscard]] GuardPageStats account() const {
    return checker.guarded().account(Checks<Choices...>::settings());
  }

  [[nodiscard]] std::vector<Misuse> faults() const {
    std::vector<Misuse> faults;
    checker.log().for_each([&](const CountedMisuse& misuse) { faults.push_back(misuse.first); });
    return faults;
  }

  BlockChecker<Checks<Choices...>>& checker =
      alloctap::testing::make_kept<BlockChecker<Checks<Choices...>>>();
  FoundMisuses found;

 private:
  BlockCall next_call() { return {.stack = ++call_, .thread = 1, .time_ns = 1000}; }
  StackId call_ = 100;
};

using Right = GuardedHeap<GuardPages<1, PageEdge::kRight>>;
using Left = GuardedHeap<GuardPages<1, PageEdge::kLeft>>;

std::size_t place_in_page(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % os::page_size();
}

constexpr auto kRead = os::FaultAccess::kRead;
constexpr auto kWrite = os::FaultAccess::kWrite;

}  // namespace

TEST_CASE("a block ends at the end of a page, as far as its alignment lets it, or begins at one") {
  Right right;
  Left left;
  for (const std::size_t size : {0u, 1u, 16u, 24u, 4095u, 4096u, 4097u, 10000u}) {
    CAPTURE(size);
    std::byte* const block = right.allocate(size);
    REQUIRE(block != nullptr);
    CHECK(place_in_page(block) % 16 == 0);
    CHECK(place_in_page(block + (size + 15) / 16 * 16) == 0);
    std::memset(block, 7, size);
    std::byte* const other = left.allocate(size);
    REQUIRE(other != nullptr);
    CHECK(place_in_page(other) == 0);
    std::memset(other, 7, size);
    CHECK(right.free(block) == Action::kRelease);
    CHECK(left.free(other) == Action::kRelease);
  }
  CHECK(right.faults().empty());
  CHECK(left.faults().empty());
  CHECK(right.account().placed == 8);
  CHECK(right.account().fell_back == 0);
}

TEST_CASE("a block has the alignment that it is asked for with") {
  Right heap;
  for (std::size_t alignment = 8; alignment <= (std::size_t{1} << 16); alignment *= 2) {
    CAPTURE(alignment);
    std::byte* const block = heap.allocate(100, alignment, AllocationKind::kAlignedAlloc);
    REQUIRE(block != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % alignment == 0);
    std::memset(block, 7, 100);
    CHECK(heap.free(block) == Action::kRelease);
  }
  CHECK(heap.faults().empty());
}

TEST_CASE("what an allocator is to refuse is left to it") {
  Right heap;
  CHECK(heap.allocate(100, 24) == nullptr);
  CHECK(heap.allocate(100, 4, AllocationKind::kAlignedAlloc) == nullptr);
  for (const AllocationKind kind : {AllocationKind::kAlignedAlloc, AllocationKind::kAlignedNew,
                                    AllocationKind::kAlignedNewArray}) {
    CHECK(heap.allocate(100, 0, kind) == nullptr);
  }
  CHECK(heap.allocate(SIZE_MAX) == nullptr);
  CHECK(heap.account().fell_back == 0);
}

TEST_CASE("a block is known by where it begins, with the size that was asked for") {
  Right heap;
  std::byte* const block = heap.allocate(24);
  CHECK(heap.checker.extent(block).size == 24);
  CHECK(heap.checker.extent(block + 8).verdict == BlockLookup::Verdict::kUnknown);
  CHECK(heap.free(block + 8) == Action::kRefuse);
  CHECK(heap.free(block) == Action::kRelease);
  CHECK(heap.free(block) == Action::kRefuse);
  CHECK(heap.free(block + 8) == Action::kRefuse);
  REQUIRE(heap.faults().size() == 3);
  CHECK(heap.faults()[0].kind == MisuseKind::kInteriorPointer);
  CHECK(heap.faults()[1].kind == MisuseKind::kDoubleFree);
  CHECK(heap.faults()[2].kind == MisuseKind::kUnknownPointer);
  CHECK(heap.faults()[2].block.size == 24);
  int local = 0;
  CHECK(heap.free(&local) == Action::kPassOn);
}

TEST_CASE("what is written between a block and the end of its page is found when it goes") {
  Right heap;
  std::byte* const block = heap.allocate(24);
  block[31] = std::byte{7};
  CHECK(heap.free(block) == Action::kRelease);
  std::byte* const other = heap.allocate(24);
  other[-1] = std::byte{7};
  CHECK(heap.free(other) == Action::kRelease);
  REQUIRE(heap.faults().size() == 2);
  CHECK(heap.faults()[0].kind == MisuseKind::kWriteBehind);
  CHECK(heap.faults()[0].changed.first == 31);
  CHECK(heap.faults()[1].kind == MisuseKind::kWriteBefore);
  CHECK(heap.faults()[1].access.address == 0);
}

TEST_CASE("the kind of a release is looked at where that is wanted") {
  GuardedHeap<GuardPages<>, KindMismatch> heap;
  CHECK(heap.free(heap.allocate(32), DeallocationKind::kDelete) == Action::kRelease);
  REQUIRE(heap.faults().size() == 1);
  CHECK(heap.faults()[0].kind == MisuseKind::kKindMismatch);
}

TEST_CASE("a refused access is told with the block that it was near, and how") {
  Right heap;
  std::byte* const first = heap.allocate(32);
  std::byte* const second = heap.allocate(5000);
  const std::size_t page = os::page_size();
  struct Case {
    const std::byte* address;
    os::FaultAccess access;
    MisuseKind kind;
    const std::byte* block;
  };
  const Case cases[] = {
      {first + 32, kRead, MisuseKind::kReadBehind, first},
      {first + 32 + page, kWrite, MisuseKind::kWriteBehind, first},
      {second - place_in_page(second) - 1, kRead, MisuseKind::kReadBefore, second},
      {second + 5008, os::FaultAccess::kUnknown, MisuseKind::kReadBehind, second},
      {second + 5008 + 2 * page, kRead, MisuseKind::kReadBehind, second},
  };
  for (const Case& expected : cases) {
    CAPTURE(expected.address);
    heap.fault(expected.address, expected.access);
    const Misuse last = heap.faults().back();
    CHECK(last.kind == expected.kind);
    CHECK(last.access.address == last.address);
    CHECK(last.access.writes == (expected.access == kWrite));
    CHECK(last.address == reinterpret_cast<std::uintptr_t>(expected.address));
    CHECK(last.block.address == reinterpret_cast<std::uintptr_t>(expected.block));
  }
  CHECK(heap.free(first) == Action::kRelease);
  CHECK(heap.fault(first + 3, kWrite));
  CHECK(heap.faults().back().kind == MisuseKind::kWriteAfterFree);
  CHECK(heap.faults().back().block.freed);
  CHECK(heap.faults().back().block.gone.stack != kNoStackId);
}

TEST_CASE("at the left edge what is before a block is nearer than what ends before that") {
  Left heap;
  heap.allocate(32);
  std::byte* const second = heap.allocate(32);
  CHECK(heap.fault(second - 1, kRead));
  CHECK(heap.fault(second - 4096, kWrite));
  REQUIRE(heap.faults().size() == 2);
  CHECK(heap.faults()[0].kind == MisuseKind::kReadBefore);
  CHECK(heap.faults()[1].kind == MisuseKind::kWriteBefore);
  CHECK(heap.faults()[1].block.address == reinterpret_cast<std::uintptr_t>(second));
}

TEST_CASE("addresses of nobody's are no fault of a block's") {
  Right heap;
  int local = 0;
  CHECK_FALSE(heap.fault(&local, kRead));
  CHECK_FALSE(heap.fault(nullptr, kRead));
  heap.allocate(16);
  CHECK_FALSE(heap.fault(&local, kRead));
}

TEST_CASE("blocks that come and go for long find room, and are forgotten one by one") {
  GuardedHeap<GuardPages<2>> heap;
  std::vector<std::byte*> live;
  for (int i = 0; i < 30000; ++i) {
    std::byte* const block = heap.allocate(static_cast<std::size_t>(i % 9000));
    REQUIRE(block != nullptr);
    live.push_back(block);
    if (live.size() < 50) continue;
    REQUIRE(heap.free(live.front()) == Action::kRelease);
    live.erase(live.begin());
  }
  CHECK(heap.faults().empty());
  CHECK(heap.account().placed == 30000);
}

TEST_CASE("pages that the program protected are as before for the next block") {
  // Few enough runs that they come again.
  GuardedHeap<GuardPages<2>> heap;
  const std::size_t page = os::page_size();
  for (int i = 0; i < 600; ++i) {
    CAPTURE(i);
    std::byte* const block = heap.allocate(page, page);
    REQUIRE(block != nullptr);
    std::memset(block, 7, page);
    REQUIRE(
        os::protect_pages(reinterpret_cast<std::uintptr_t>(block), page, {.readable = i % 2 == 0}));
    heap.checker.note_page_change(block, page, PageChange::kProtected);
    CHECK_FALSE(heap.fault(block, kWrite));
    CHECK(heap.free(block) == Action::kRelease);
  }
  CHECK(heap.faults().empty());
}

TEST_CASE("pages that the program replaced are its own for ever") {
  Right heap;
  const std::size_t page = os::page_size();
  std::byte* const block = heap.allocate(page, page);
  std::memset(block, 7, page);
  heap.checker.note_page_change(block, page, PageChange::kReplaced);
  CHECK(heap.free(block) == Action::kRelease);
  CHECK(block[0] == std::byte{7});
  CHECK(heap.free(block) == Action::kRefuse);
}

TEST_CASE("a block that is freed inside another call is gone, too") {
  Right heap;
  std::byte* const block = heap.allocate(32);
  CHECK(heap.checker.release_unchecked(block).action == Action::kReturnedToPool);
  CHECK(heap.checker.extent(block).verdict == BlockLookup::Verdict::kUnknown);
  CHECK(heap.checker.release_unchecked(block).action == Action::kReturnedToPool);
  int local = 0;
  CHECK(heap.checker.release_unchecked(&local).action == Action::kPassOn);
}
