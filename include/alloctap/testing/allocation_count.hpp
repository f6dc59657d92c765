/// Counts the allocations that a callable makes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/game/allocation_scopes.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/counted_stack.hpp"
#include "alloctap/testing/framework_frames.hpp"
#include "alloctap/testing/measured_callable.hpp"
#include "alloctap/testing/measured_stacks.hpp"
#include "alloctap/testing/test_framework.hpp"
#include "alloctap/testing/test_tracker.hpp"

namespace alloctap::testing {

/// The allocations of the calling thread during a measurement, including blocks freed since.
struct AllocationCount {
  /// An error if allocations could not be counted.
  Status status;
  AllocationSums sums;
  /// Stacks that allocated; most allocations first.
  std::vector<CountedStack> stacks;
  /// See `MeasuredCallable::caller`.
  std::uintptr_t caller = 0;
};

/// Returns the counts of `scope` so far. Allocations of this function are not counted.
[[nodiscard]] inline AllocationCount read_count(const AllocationScope& scope) {
  const ReentrancyGuard guard;
  AllocationCount count;
  if (!scope.counts()) {
    count.status = TestTracker::missing();
    return count;
  }
  count.sums = scope.sums();
  scope.for_each_stack([&](StackId stack, const AllocationSums& sums) {
    if (sums.allocations == 0) return;
    count.stacks.push_back({.stack = stack, .allocations = sums.allocations, .bytes = sums.bytes});
  });
  const auto is_before = [](const CountedStack& a, const CountedStack& b) {
    return a.allocations > b.allocations;
  };
  std::sort(count.stacks.begin(), count.stacks.end(), is_before);
  return count;
}

/// Calls `body()` and counts its allocations on this thread. Passes exceptions of `body` on.
template <class Body>
[[nodiscard]] AllocationCount count_allocations(Body&& body) {
  MeasuredCallable measured(body);
  const AllocationScope scope;
  measured();
  AllocationCount count = read_count(scope);
  count.caller = measured.caller();
  return count;
}

/// Returns the leading `frames` (leaf first) up to the function that was called at `caller`,
/// without internals of the standard library.
[[nodiscard]] inline std::span<const NamedFrame> shown_frames(std::span<const NamedFrame> frames,
                                                              std::uintptr_t caller) noexcept {
  return FrameworkFrames::without_library(frames_inside(frames, caller));
}

/// Subtracts from `count` the allocations that the test framework made for its assertions.
inline void leave_out_framework(AllocationCount& count, const NamedStacks& names) {
  const FrameworkFrames framework = TestFramework::frames();
  std::erase_if(count.stacks, [&](const CountedStack& stack) {
    const bool is_out = framework.allocated(frames_inside(names.frames(stack.stack), count.caller));
    if (is_out) {
      count.sums.allocations -= stack.allocations;
      count.sums.bytes -= stack.bytes;
    }
    return is_out;
  });
}

/// Symbolizes the stacks of `count`. Slow: reads debug information.
[[nodiscard]] inline Result<NamedStacks> name_stacks(const AllocationCount& count) {
  const TestTracker* const tracker = TestTracker::current();
  if (tracker == nullptr) return TestTracker::missing();
  std::vector<StackId> stacks;
  for (const CountedStack& stack : count.stacks) stacks.push_back(stack.stack);
  return tracker->name_stacks(stacks);
}

}  // namespace alloctap::testing
