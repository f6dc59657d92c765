#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "alloctap/check/block_checker.hpp"
#include "alloctap/check/checks.hpp"
#include "tests/unit/check/checked_heap.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::CheckedHeap;
using alloctap::testing::Guards;
using Action = ReleasePlan::Action;
using Kinds = std::vector<MisuseKind>;

}  // namespace

TEST_CASE("an address inside a block, or in its guards, is refused") {
  static constinit BlockChecker<Guards> checker;
  CheckedHeap heap(checker);
  std::byte* const block = heap.allocate(100);
  for (const int offset : {1, 16, 99, 110, -8}) {
    CAPTURE(offset);
    CHECK(heap.free(block + offset) == Action::kRefuse);
    CHECK(heap.kinds().back() == MisuseKind::kInteriorPointer);
  }
  CHECK(heap.fault(0).block.size == 100);
  CHECK(heap.free(block) == Action::kRelease);
}

TEST_CASE("an unknown address passes, unless every block is known") {
  static constinit BlockChecker<Guards> checker;
  CheckedHeap heap(checker);
  int on_stack = 0;
  CHECK(heap.free(&on_stack) == Action::kPassOn);
  CHECK(heap.kinds() == Kinds{});
  static constinit BlockChecker<Checks<PointerVerification>> strict;
  CheckedHeap strict_heap(strict);
  CHECK(strict_heap.free(&on_stack) == Action::kRefuse);
  CHECK(strict_heap.kinds() == Kinds{MisuseKind::kUnknownPointer});
}

TEST_CASE("the size of what is no live block is told of, unless the block may be another's") {
  using Verdict = BlockLookup::Verdict;
  static constinit BlockChecker<Guards> checker;
  static constinit BlockChecker<Checks<PointerVerification>> strict;
  CheckedHeap heap(checker);
  CheckedHeap strict_heap(strict);
  alignas(16) std::byte on_stack[32]{};
  FoundMisuses found;
  const auto verdict = [&](auto& asked, const void* pointer) {
    return asked.before_measure(pointer, "size_of", {.stack = heap.call}, found).verdict;
  };
  std::byte* const block = heap.allocate(24);
  CHECK(verdict(checker, block) == Verdict::kKnown);
  CHECK(verdict(checker, on_stack) == Verdict::kUnknown);
  CHECK(verdict(checker, block + 8) == Verdict::kRefused);
  CHECK(heap.free(block) == Action::kRelease);
  CHECK(verdict(checker, block) == Verdict::kRefused);
  CHECK(heap.kinds() == Kinds{MisuseKind::kInteriorPointer, MisuseKind::kUnknownPointer});
  CHECK(heap.fault(0).access.function == "size_of");
  strict.register_unchecked_block(on_stack);
  CHECK(verdict(strict, on_stack) == Verdict::kUnknown);
  CHECK(verdict(strict, on_stack + 16) == Verdict::kRefused);
  // It was noted, and still is.
  CHECK(verdict(strict, on_stack) == Verdict::kUnknown);
  CHECK(strict_heap.kinds() == Kinds{MisuseKind::kUnknownPointer});
}

TEST_CASE("a stranger is what stands nowhere near a block and was not noted") {
  static constinit BlockChecker<Level10> checker;
  CheckedHeap heap(checker);
  alignas(16) static std::byte other[32];
  CHECK(checker.is_unknown_block(other));
  checker.register_unchecked_block(other);
  CHECK_FALSE(checker.is_unknown_block(other));
  CHECK(checker.forget_unchecked(other));
  CHECK_FALSE(checker.forget_unchecked(other));
  CHECK(checker.is_unknown_block(other));
  std::byte* const block = heap.allocate(24);
  for (const int offset : {-32, 0, 16, 40}) CHECK_FALSE(checker.is_unknown_block(block + offset));
  heap.free(block);
  CHECK_FALSE(checker.is_unknown_block(block));
}

TEST_CASE("where unknown addresses are no faults there are no strangers") {
  static constinit BlockChecker<Guards> checker;
  alignas(16) static std::byte other[32];
  CHECK_FALSE(checker.is_unknown_block(other));
  static constinit BlockChecker<Checks<Expand<>>> unaware;
  CHECK_FALSE(unaware.is_unknown_block(other));
  CHECK(unaware.forget_unchecked(other));
}
