#include "alloctap/snapshot/reach/block_marks.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/exhausted_arena.hpp"
#include "tests/support/fake_memory.hpp"

namespace {

using alloctap::BlockIndex;
using alloctap::BlockMark;
using alloctap::BlockMarks;
using alloctap::MemoryImage;
using alloctap::testing::MadeUpHeap;
using alloctap::testing::MadeUpMemory;
using alloctap::testing::StarvedArena;

static_assert(MemoryImage<MadeUpMemory>);

/// A letter for each block: reachable, definite, indirect.
std::string verdicts(MadeUpHeap& heap, const std::vector<std::uintptr_t>& roots) {
  BlockIndex index;
  REQUIRE(index.build(heap.blocks));
  BlockMarks marks(index, heap.memory);
  REQUIRE(marks.prepare());
  marks.add_root_words(roots);
  marks.spread();
  marks.part_unreachable();
  std::string letters;
  for (std::size_t i = 0; i < heap.blocks.size(); ++i) {
    const BlockMark mark = marks.of(i);
    letters += mark == BlockMark::kReachable  ? 'r'
               : mark == BlockMark::kDefinite ? 'd'
               : mark == BlockMark::kIndirect ? 'i'
                                              : '?';
  }
  return letters;
}

}  // namespace

TEST_CASE("whatever a root leads to is reachable") {
  MadeUpHeap heap(5);
  heap.link(0, 3);
  heap.link(3, 1, 7);
  CHECK(verdicts(heap, {MadeUpHeap::address(0)}) == "rrdrd");
}

TEST_CASE("a root may point inside a block, and not behind its end") {
  MadeUpHeap heap(3);
  CHECK(verdicts(heap, {MadeUpHeap::address(0) + 63, MadeUpHeap::address(1) + 64,
                        MadeUpHeap::address(2) - 1}) == "rdd");
}

TEST_CASE("roots in memory are read word by word") {
  MadeUpHeap heap(3);
  heap.memory.write(0x1000, MadeUpHeap::address(0));
  heap.memory.write(0x1008, MadeUpHeap::address(1));
  heap.memory.write(0x1010, MadeUpHeap::address(2));
  BlockIndex index;
  REQUIRE(index.build(heap.blocks));
  BlockMarks marks(index, heap.memory);
  REQUIRE(marks.prepare());
  marks.add_root({0x1008, 0x1010});
  marks.spread();
  marks.part_unreachable();
  CHECK(marks.of(0) == BlockMark::kDefinite);
  CHECK(marks.of(1) == BlockMark::kReachable);
  CHECK(marks.of(2) == BlockMark::kDefinite);
}

TEST_CASE("what only lost blocks point at is lost indirectly") {
  MadeUpHeap heap(5);
  heap.link(2, 0);
  heap.link(0, 4);
  heap.link(2, 4, 1);
  CHECK(verdicts(heap, {}) == "idddi");
}

TEST_CASE("what a reachable block points at too is not lost") {
  MadeUpHeap heap(3);
  heap.link(1, 2);
  heap.link(0, 2);
  CHECK(verdicts(heap, {MadeUpHeap::address(0)}) == "rdr");
}

TEST_CASE("a block that points at itself alone is definitely lost") {
  MadeUpHeap heap(1);
  heap.link(0, 0, 3);
  CHECK(verdicts(heap, {}) == "d");
}

TEST_CASE("of a circle one block is definitely lost, the lowest") {
  MadeUpHeap heap(4);
  heap.link(1, 3);
  heap.link(3, 2);
  heap.link(2, 1);
  CHECK(verdicts(heap, {MadeUpHeap::address(0)}) == "rdii");
}

TEST_CASE("what lies behind a circle is lost indirectly, wherever it lies") {
  MadeUpHeap heap(5);
  heap.link(2, 3);
  heap.link(3, 2);
  heap.link(3, 0, 1);
  heap.link(0, 1);
  heap.link(3, 4, 2);
  CHECK(verdicts(heap, {}) == "iidii");
}

TEST_CASE("of a circle that leads to another only the first is definitely lost") {
  MadeUpHeap heap(4);
  heap.link(0, 1);
  heap.link(1, 0);
  heap.link(2, 3);
  heap.link(3, 2);
  heap.link(3, 0, 1);
  CHECK(verdicts(heap, {}) == "iidi");
}

TEST_CASE("a circle that a lost block leads to is lost indirectly as a whole") {
  MadeUpHeap heap(3);
  heap.link(0, 1);
  heap.link(1, 0);
  heap.link(2, 1);
  CHECK(verdicts(heap, {}) == "iid");
}

TEST_CASE("where there are no blocks there is nothing to mark") {
  MadeUpHeap heap(0);
  CHECK(verdicts(heap, {MadeUpHeap::kStart, 0}) == "");
}

TEST_CASE("a block of no bytes is reached by its address, and leads nowhere") {
  MadeUpHeap heap(2);
  heap.blocks[0].size = 0;
  heap.link(0, 1);
  CHECK(verdicts(heap, {MadeUpHeap::address(0)}) == "rd");
  CHECK(verdicts(heap, {}) == "dd");
}

TEST_CASE("a chain of 100,000 blocks is followed to its end") {
  constexpr std::size_t kCount = 100'000;
  MadeUpHeap heap(kCount);
  // Back to the front, so that the order of addresses does not help.
  for (std::size_t i = 1; i < kCount; ++i) heap.link(i, i - 1);
  CHECK(verdicts(heap, {MadeUpHeap::address(kCount - 1)}) == std::string(kCount, 'r'));
  CHECK(verdicts(heap, {}) == std::string(kCount - 1, 'i') + 'd');
}

TEST_CASE("without memory nothing is marked") {
  MadeUpHeap heap(100'000);
  BlockIndex index;
  REQUIRE(index.build(heap.blocks));
  BlockMarks marks(index, heap.memory);
  bool prepared = true;
  {
    const StarvedArena starved;
    prepared = marks.prepare();
  }
  CHECK_FALSE(prepared);
}
