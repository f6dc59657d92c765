/// What a piece of code allocates.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/game/allocation_scopes.hpp"
#include "alloctap/guard/reentrancy_guard.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/testing/framework_frames.hpp"
#include "alloctap/testing/leaked_case.hpp"
#include "alloctap/testing/test_framework.hpp"
#include "alloctap/testing/test_tracker.hpp"

namespace alloctap::testing {

/// What one stack allocated.
struct StackAllocations {
  StackId stack = kNoStackId;
  AllocationSums sums;
};

/// What the calling thread allocated in the time that was measured, whatever became of it.
struct AllocationCount {
  /// Why nothing was counted.
  absl::Status status;
  AllocationSums sums;
  /// Those that allocated, most allocations first.
  std::vector<StackAllocations> stacks;
};

/// What `scope` has counted so far. What this allocates itself does not count.
[[nodiscard]] inline AllocationCount read_count(const AllocationScope& scope) {
  const ReentrancyGuard guard;
  AllocationCount count;
  if (!scope.counts()) {
    count.status = TestTracker::missing();
    return count;
  }
  count.sums = scope.sums();
  scope.for_each_stack([&](StackId stack, const AllocationSums& sums) {
    if (sums.allocations > 0) count.stacks.push_back({stack, sums});
  });
  std::sort(count.stacks.begin(), count.stacks.end(),
            [](const auto& a, const auto& b) { return a.sums.allocations > b.sums.allocations; });
  return count;
}

/// Calls `body()` and counts what it allocates on this thread. What it throws passes through.
template <class Body>
[[nodiscard]] ALLOCTAP_NOINLINE AllocationCount count_allocations(Body&& body) {
  const AllocationScope scope;
  std::forward<Body>(body)();
  return read_count(scope);
}

/// `frames`, leaf first, up to where a function of testing/ was called: what it measures; without
/// what is inside of the standard library. Up to the framework where that place is not known.
[[nodiscard]] inline std::span<const NamedFrame> inside_of_body(
    std::span<const NamedFrame> frames) noexcept {
  const auto is_ours = [](const NamedFrame& frame) {
    return qualified_name(frame.function).starts_with("alloctap::testing::") ||
           frame.file.find("alloctap/testing/") != frame.file.npos;
  };
  const auto ours = std::find_if(frames.begin(), frames.end(), is_ours);
  if (ours == frames.end()) return TestFramework::frames().cut(frames);
  return FrameworkFrames::without_library(
      frames.first(static_cast<std::size_t>(ours - frames.begin())));
}

/// Takes what the test framework has allocated by itself, for its assertions, out of `count`.
inline void leave_out_framework(AllocationCount& count, const NamedStacks& names) {
  const FrameworkFrames framework = TestFramework::frames();
  std::erase_if(count.stacks, [&](const StackAllocations& stack) {
    const bool is_out = framework.allocated(inside_of_body(names.frames(stack.stack)));
    if (is_out) {
      count.sums.allocations -= stack.sums.allocations;
      count.sums.bytes -= stack.sums.bytes;
    }
    return is_out;
  });
}

/// The names of what `count` knows of. Takes its time: debug information is read.
[[nodiscard]] inline absl::StatusOr<NamedStacks> name_stacks(const AllocationCount& count) {
  const TestTracker* const tracker = TestTracker::current();
  if (tracker == nullptr) return TestTracker::missing();
  std::vector<StackId> stacks;
  for (const StackAllocations& stack : count.stacks) stacks.push_back(stack.stack);
  return tracker->name_stacks(stacks);
}

}  // namespace alloctap::testing
