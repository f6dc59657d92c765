#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "alloctap/check/block_checker.hpp"
#include "alloctap/check/block_faults.hpp"
#include "alloctap/check/checks.hpp"
#include "tests/unit/check/checked_heap.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::CheckedHeap;

MemoryAccess access_to(const std::byte* begin, std::size_t bytes, bool writes) {
  return {.function = "test",
          .address = reinterpret_cast<std::uintptr_t>(begin),
          .bytes = bytes,
          .writes = writes};
}

/// What `checker` says of that range, written and read; nothing where it is in order.
template <class Checker>
std::optional<MisuseKind> fault_of(Checker& checker, const std::byte* begin, std::size_t bytes,
                                   bool writes) {
  const auto fault = checker.accesses().find_fault(access_to(begin, bytes, writes));
  return fault.has_value() ? std::optional(fault->kind) : std::nullopt;
}

/// Whether a range is `read` for one that is read, and `write` for one that is written.
template <class Checker>
bool is_fault(Checker& checker, const std::byte* begin, std::size_t bytes, MisuseKind read,
              MisuseKind write) {
  return fault_of(checker, begin, bytes, false) == read &&
         fault_of(checker, begin, bytes, true) == write;
}
template <class Checker>
bool is_sound(Checker& checker, const std::byte* begin, std::size_t bytes) {
  return !fault_of(checker, begin, bytes, false) && !fault_of(checker, begin, bytes, true);
}

}  // namespace

TEST_CASE("a range inside a block is in order, and one that leaves it is not") {
  static constinit BlockChecker<Checks<StringChecks>> checker;
  CheckedHeap heap(checker);
  for (const std::size_t size : {1U, 24U, 4096U, 100'000U}) {
    CAPTURE(size);
    std::byte* const block = heap.allocate(size);
    CHECK(is_sound(checker, block, size));
    CHECK(is_sound(checker, block + size - 1, 1));
    CHECK(is_sound(checker, block + size / 2, 0));
    CHECK(is_fault(checker, block, size + 1, MisuseKind::kReadBehind, MisuseKind::kWriteBehind));
    CHECK(
        is_fault(checker, block + size - 1, 2, MisuseKind::kReadBehind, MisuseKind::kWriteBehind));
    CHECK(is_fault(checker, block - 8, 9, MisuseKind::kReadBefore, MisuseKind::kWriteBefore));
    // A length that was negative.
    CHECK(is_fault(checker, block, SIZE_MAX, MisuseKind::kReadBehind, MisuseKind::kWriteBehind));
    CHECK(is_fault(checker, block, std::size_t{0} - size, MisuseKind::kReadBehind,
                   MisuseKind::kWriteBehind));
    CHECK(
        is_fault(checker, block - 8, SIZE_MAX, MisuseKind::kReadBefore, MisuseKind::kWriteBefore));
    CHECK(checker.accesses().room_at(block) == size);
    CHECK(checker.accesses().room_at(block + size / 2) == size - size / 2);
  }
}

TEST_CASE("a range in a guard belongs to the block of the guard") {
  static constinit BlockChecker<Checks<FrontGuard<32>, RearGuard<32>, StringChecks>> checker;
  CheckedHeap heap(checker);
  std::byte* const block = heap.allocate(24);
  CHECK(is_fault(checker, block - 20, 4, MisuseKind::kReadBefore, MisuseKind::kWriteBefore));
  CHECK(is_fault(checker, block + 30, 4, MisuseKind::kReadBehind, MisuseKind::kWriteBehind));
  CHECK(checker.accesses().room_at(block + 30) == 0);
  CHECK(checker.accesses().room_at(block - 20) == 0);
}

TEST_CASE("room to expand may be used") {
  static constinit BlockChecker<Checks<Expand<16>, StringChecks>> checker;
  CheckedHeap heap(checker);
  std::byte* const block = heap.allocate(24);
  CHECK(is_sound(checker, block, 40));
  CHECK(is_fault(checker, block, 41, MisuseKind::kReadBehind, MisuseKind::kWriteBehind));
}

TEST_CASE("a freed block is nobody's while it is kept, and may be anybody's afterwards") {
  static constinit BlockChecker<Checks<Quarantine<1>, StringChecks>> checker;
  CheckedHeap heap(checker);
  std::byte* const first = heap.allocate(24);
  heap.free(first);
  CHECK(is_fault(checker, first, 1, MisuseKind::kReadAfterFree, MisuseKind::kWriteAfterFree));
  CHECK(checker.accesses().room_at(first + 4) == 20);
  heap.free(heap.allocate(24));
  CHECK(is_sound(checker, first, 24));
  CHECK(checker.accesses().room_at(first) == SIZE_MAX);
}

TEST_CASE("memory that is no block is not looked at") {
  static constinit BlockChecker<Checks<StringChecks>> checker;
  const std::byte on_stack[64]{};
  CHECK(is_sound(checker, on_stack, sizeof(on_stack)));
  CHECK(is_sound(checker, nullptr, 64));
  CHECK(is_sound(checker, reinterpret_cast<const std::byte*>(UINTPTR_MAX - 63), 64));
  CHECK(checker.accesses().room_at(on_stack) == SIZE_MAX);
}

TEST_CASE("a fault is kept with the access, the block and where it was allocated") {
  static constinit BlockChecker<Checks<StringChecks>> checker;
  CheckedHeap heap(checker);
  const std::byte* const block = heap.allocate(24);
  const MemoryAccess access = access_to(block, 30, true);
  const auto fault = checker.accesses().find_fault(access);
  REQUIRE(fault.has_value());
  FoundMisuses found;
  checker.accesses().add(*fault, access, {.stack = 7, .thread = 3}, found);
  checker.accesses().add(*fault, access, {.stack = 7, .thread = 3}, found);
  CHECK(found.size() == 1);
  const Misuse kept = heap.fault(0);
  CHECK(kept.kind == MisuseKind::kWriteBehind);
  CHECK(kept.access.bytes == 30);
  CHECK(kept.found.stack == 7);
  CHECK(kept.block.size == 24);
  CHECK(kept.block.allocated.stack == heap.call);
  checker.accesses().add_overlap(access, access.address + 1, {.stack = 8}, found);
  CHECK(heap.fault(1).kind == MisuseKind::kOverlappingCopy);
  CHECK(heap.fault(1).source == access.address + 1);
  CHECK(heap.fault(1).block.size == 24);
}
