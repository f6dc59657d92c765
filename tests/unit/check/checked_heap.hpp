/// An allocator of a test, behind a `BlockChecker`, as a hook would put it there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "alloctap/check/block_checker.hpp"
#include "alloctap/check/checks.hpp"

namespace alloctap::testing {

/// On both sides of each block.
using Guards = Checks<FrontGuard<32>, RearGuard<32>>;

/// Its blocks stay until it goes, so that tests may look at them and no address comes twice. What
/// goes by and is found is kept for tests, too; each call has a stack of its own, `call`.
template <CheckPolicy Policy>
class CheckedHeap {
 public:
  explicit CheckedHeap(BlockChecker<Policy>& checker) : checker_(checker) {}
  ~CheckedHeap() {
    for (const Block& block : blocks_) ::operator delete(block.begin, block.alignment);
  }
  CheckedHeap(const CheckedHeap&) = delete;
  CheckedHeap& operator=(const CheckedHeap&) = delete;

  std::byte* allocate(std::size_t size, AllocationKind kind = AllocationKind::kMalloc,
                      std::size_t alignment = 0, bool has_content = false) {
    const AllocationRequest wanted{
        .size = size, .alignment = alignment, .kind = kind, .has_content = has_content};
    const BlockPlan plan = checker_.plan(wanted, 0);
    asked = plan.bytes;
    const std::size_t step = alignment < 16 ? 16 : alignment;
    void* const raw = take(plan.bytes, static_cast<std::align_val_t>(step));
    std::memset(raw, 0x11, plan.bytes);
    return static_cast<std::byte*>(checker_.adopt(plan, raw, wanted, next_call()));
  }

  /// Whether the call reached the allocator, with this block or with others.
  ReleasePlan::Action free(void* pointer, DeallocationKind kind = DeallocationKind::kFree,
                           std::size_t stated_size = 0, std::size_t stated_alignment = 0) {
    DeallocationEvent gone;
    gone.pointer = pointer;
    gone.kind = kind;
    gone.stated_size = stated_size;
    gone.stated_alignment = stated_alignment;
    const BlockCall by = next_call();
    const ReleasePlan plan = checker_.release(gone, by, found);
    if (plan.action != ReleasePlan::Action::kRelease) return plan.action;
    if (checker_.retire(plan, 0)) give_back(plan);
    for (ReleasePlan evicted; checker_.evict(evicted, by, found);) give_back(evicted);
    return plan.action;
  }

  void sweep() { checker_.sweep({}, found); }

  /// The kinds of all faults, in the order in which they were found first.
  [[nodiscard]] std::vector<MisuseKind> kinds() const {
    std::vector<MisuseKind> kinds;
    checker_.log().for_each(
        [&](const CountedMisuse& misuse) { kinds.push_back(misuse.first.kind); });
    return kinds;
  }

  [[nodiscard]] Misuse fault(std::size_t index) const {
    std::vector<Misuse> faults;
    checker_.log().for_each([&](const CountedMisuse& misuse) { faults.push_back(misuse.first); });
    return faults.at(index);
  }

  /// Bytes that the allocator was asked for last.
  std::size_t asked = 0;
  /// Of the last call; each has another one.
  StackId call = 100;
  /// What the allocator got back.
  std::vector<void*> given_back;
  FoundMisuses found;

 private:
  BlockCall next_call() { return {.stack = ++call, .thread = 1, .time_ns = 1000}; }

  void give_back(const ReleasePlan& plan) { given_back.push_back(plan.block); }

  void* take(std::size_t bytes, std::align_val_t alignment) {
    void* const raw = ::operator new(bytes, alignment);
    blocks_.push_back({raw, alignment});
    return raw;
  }

  struct Block {
    void* begin;
    std::align_val_t alignment;
  };

  BlockChecker<Policy>& checker_;
  std::vector<Block> blocks_;
};

}  // namespace alloctap::testing
