// Blocks whose pages the program protected, replaced or discarded.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "alloctap/check/block_checker.hpp"
#include "alloctap/check/checks.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "tests/support/untouched_memory.hpp"
#include "tests/unit/check/checked_heap.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::CheckedHeap;
using alloctap::testing::UntouchedMemory;
using Kinds = std::vector<MisuseKind>;

/// A block that lies in pages of its own, from the second one on.
template <class Policy>
class PagedBlock {
 public:
  explicit PagedBlock(BlockChecker<Policy>& checker) : checker_(checker) {
    const AllocationRequest wanted{.size = bytes, .alignment = page};
    const BlockPlan plan = checker.plan(wanted, 0);
    begin = static_cast<std::byte*>(checker.adopt(plan, memory_.begin(), wanted, {}));
    REQUIRE(begin == memory_.begin() + page);
    std::memset(begin, 0x5A, bytes);
  }

  void protect(std::size_t offset, std::size_t length, os::Protection protection) {
    REQUIRE(
        os::protect_pages(reinterpret_cast<std::uintptr_t>(begin) + offset, length, protection));
    checker_.note_page_change(begin + offset, length, PageChange::kProtected);
  }
  void permit() { protect(0, 3 * page, {.readable = true, .writable = true}); }

  [[nodiscard]] bool is_untouched() const {
    return std::all_of(begin, begin + bytes,
                       [](std::byte byte) { return byte == std::byte{0x5A}; });
  }

  const std::size_t page = os::page_size();
  const std::size_t bytes = 3 * page - 100;
  std::byte* begin = nullptr;

 private:
  BlockChecker<Policy>& checker_;
  UntouchedMemory memory_{5 * os::page_size()};
};

}  // namespace

TEST_CASE("a block that cannot be written goes to the allocator at once, as it is") {
  static constinit BlockChecker<Level10> checker;
  CheckedHeap heap(checker);
  for (const os::Protection protection : {os::Protection{.readable = true}, os::Protection{}}) {
    for (const std::size_t pages : {1U, 3U}) {
      PagedBlock block(checker);
      block.protect(0, pages * block.page, protection);
      heap.sweep();
      heap.given_back.clear();
      CHECK(heap.free(block.begin) == ReleasePlan::Action::kRelease);
      CHECK(heap.given_back == std::vector<void*>{block.begin - block.page});
      block.permit();
      CHECK(block.is_untouched());
      CHECK(heap.free(block.begin) == ReleasePlan::Action::kRefuse);
    }
  }
  CHECK(heap.kinds() == Kinds(4, MisuseKind::kDoubleFree));
}

TEST_CASE("a block that can be written again is looked after as before") {
  static constinit BlockChecker<Level10> checker;
  CheckedHeap heap(checker);
  PagedBlock block(checker);
  block.protect(block.page, block.page, {});
  block.permit();
  block.begin[block.bytes] = std::byte{1};
  heap.free(block.begin);
  CHECK(heap.given_back.empty());
  CHECK(heap.kinds() == Kinds{MisuseKind::kWriteBehind});
  CHECK(block.begin[block.page] == std::byte{kFreedByte});
}

TEST_CASE("pages that were replaced are not written, though they could be") {
  static constinit BlockChecker<Level10> checker;
  CheckedHeap heap(checker);
  PagedBlock block(checker);
  checker.note_page_change(block.begin + block.page, 10, PageChange::kReplaced);
  block.permit();
  heap.free(block.begin);
  CHECK(heap.given_back.size() == 1);
  CHECK(block.is_untouched());
}

TEST_CASE("guards that go with discarded pages come back, and others stay as they are") {
  static constinit BlockChecker<Level10> checker;
  CheckedHeap heap(checker);
  PagedBlock block(checker);
  block.begin[-1] = std::byte{1};
  std::memset(block.begin, 0, 3 * block.page);
  checker.note_page_change(block.begin, block.bytes, PageChange::kDiscarded);
  heap.free(block.begin);
  CHECK(heap.kinds() == Kinds{MisuseKind::kWriteBefore});
}

TEST_CASE("of a page with many blocks each that is live is left alone") {
  static constinit BlockChecker<Level10> checker;
  CheckedHeap heap(checker);
  const std::size_t page = os::page_size();
  const UntouchedMemory memory(2 * page);
  std::vector<std::byte*> blocks;
  for (std::size_t offset = 0; offset < page; offset += 256) {
    const AllocationRequest wanted{.size = 100};
    void* const raw = memory.begin() + offset;
    blocks.push_back(
        static_cast<std::byte*>(checker.adopt(checker.plan(wanted, 0), raw, wanted, {})));
  }
  checker.note_page_change(memory.begin(), page, PageChange::kReplaced);
  for (std::byte* block : blocks) heap.free(block);
  const std::size_t left_alone = std::min<std::size_t>(page, 4096) / 256;
  CHECK(heap.given_back.size() >= left_alone);
}
