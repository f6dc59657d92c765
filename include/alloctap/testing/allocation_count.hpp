/// Allocations and memory growth that a callable causes, with the symbolized stacks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/game/allocation_scopes.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/inherited_tags.hpp"
#include "alloctap/testing/baseline.hpp"
#include "alloctap/testing/counted_stack.hpp"
#include "alloctap/testing/leaked_case.hpp"
#include "alloctap/testing/measured_callable.hpp"
#include "alloctap/testing/test_framework.hpp"

namespace alloctap::testing {

/// Returns the part of `frames` (leaf first) inside the measured function. Removes the frames with
/// the address `caller`, all frames outside of them, and the next inner frame, `MeasuredCallable`
/// or the outermost function inlined into it. Returns all frames if none has the address `caller`,
/// as on other threads or in truncated stacks.
[[nodiscard]] inline std::span<const NamedFrame> frames_inside(std::span<const NamedFrame> frames,
                                                               std::uintptr_t caller) noexcept {
  std::size_t end = frames.size();
  while (end > 0 && frames[end - 1].address != caller) --end;
  if (caller == 0 || end == 0) return frames;
  while (end > 0 && frames[end - 1].address == caller) --end;
  return frames.first(end > 0 ? end - 1 : 0);
}

/// Returns "module  function", with "?" for unknown parts and for control characters.
[[nodiscard]] inline std::string frame_text(const NamedFrame& frame) {
  std::string text(frame.module.empty() ? "?" : frame.module_name());
  text += "  ";
  text += frame.function.empty() ? "?" : frame.function;
  for (char& character : text) {
    if (static_cast<unsigned char>(character) < ' ') character = '?';
  }
  return text;
}

/// Selects the frames of a baseline.
struct BaselineFrames {
  /// Call address of the measured function, as for `frames_inside`.
  std::uintptr_t caller = 0;
  /// Omits frames that are inside a C++ standard library function which the program called. This
  /// makes stacks shorter and independent of the library's version.
  bool without_library = false;
};

/// Converts `counted` to a baseline. Elements of `counted` have the members of `CountedStack`;
/// `named` must contain their stacks. Omits allocations of the test framework for its assertions.
template <class Counts>
[[nodiscard]] Baseline baseline_of(const Counts& counted, const NamedStacks& named,
                                   const BaselineFrames& which) {
  const FrameworkFrames framework = TestFramework::frames();
  Baseline baseline;
  for (const auto& count : counted) {
    const auto frames = named.frames(count.stack);
    auto inside = frames_inside(frames, which.caller);
    if (framework.allocated(inside)) continue;
    if (which.without_library) inside = FrameworkFrames::without_library(inside);
    BaselineStack stack;
    for (const NamedFrame& frame : inside) stack.push_back(frame_text(frame));
    if (stack.empty()) stack.emplace_back(frames.empty() ? "(no stack)" : "(the function itself)");
    baseline.stacks[std::move(stack)] += {.allocations = count.allocations, .bytes = count.bytes};
  }
  return baseline;
}

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

/// Returns `frames_inside(frames, caller)` without internals of the standard library.
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

/// Counts the allocations of the calling thread per stack while `work()` runs. Uses the stack ids
/// of the tracker that has the observer `AllocationScopes`; fails if no such tracker has a session.
/// Passes exceptions of `work` on. Control plane.
struct ScopeCounter {
  template <class Work>
  [[nodiscard]] Result<ArenaArray<CountedStack>> operator()(Work& work) const {
    const AllocationScope scope;
    work();
    if (!scope.counts()) {
      return Status::failed_precondition(
          "nothing counts: no tracker with AllocationScopes among its Observers has a session");
    }
    ArenaArray<CountedStack> counts;
    bool complete = true;
    scope.for_each_stack([&](StackId stack, const AllocationSums& sums) {
      if (sums.allocations == 0) return;
      complete =
          complete &&
          counts.push_back({.stack = stack, .allocations = sums.allocations, .bytes = sums.bytes});
    });
    if (complete) return counts;
    return Status::resource_exhausted("counter: the system has no memory for its stacks");
  }
};

/// Detects memory growth: compares the live blocks at three calls of `look`. Covers allocations
/// that this thread, and threads started by this thread, make while the object exists. Control
/// plane; at most one object at a time. The object's own allocations are not recorded.
class GrowthWatch {
 public:
  void look() {
    const ReentrancyGuard guard;
    if (!status_.ok()) return;
    const TestTracker* const tracker = TestTracker::current();
    if (tracker == nullptr || !tracker->running()) {
      status_ = TestTracker::missing();
      return;
    }
    const Result<Snapshot> now = tracker->snapshot();
    status_ = now.status();
    if (!now.ok()) return;
    std::map<StackId, Live>& live = looks_.emplace_back();
    for (const StackSummary& stack : now->stacks) {
      if (is_mine(now->table->owner(stack.stack).tag)) {
        live[stack.stack] = {stack.live_allocations, stack.live_bytes};
      }
    }
  }

  /// Returns a description of the stacks that grew between every two successive calls of `look`, an
  /// error message, or "" if no stack grew. `calls` is the number of calls of the measured
  /// function. `caller` is that of `MeasuredCallable::caller`.
  [[nodiscard]] std::string describe(std::uint32_t calls, std::uintptr_t caller) const {
    if (!status_.ok()) return std::string(status_.message());
    constexpr std::size_t kLooks = 3;
    if (looks_.size() != kLooks) return "a watch for growth needs three looks\n";
    std::vector<StackId> grown;
    for (const auto& [stack, last] : looks_[2]) {
      const Live middle = live_at(1, stack);
      if (grows(live_at(0, stack), middle) && grows(middle, last)) grown.push_back(stack);
    }
    return grown.empty() ? std::string() : describe(grown, calls, caller);
  }

 private:
  struct Live {
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;
  };

  static bool grows(const Live& before, const Live& after) noexcept {
    return after.blocks > before.blocks || after.bytes > before.bytes;
  }

  [[nodiscard]] Live live_at(std::size_t look, StackId stack) const {
    const auto found = looks_[look].find(stack);
    return found == looks_[look].end() ? Live{} : found->second;
  }

  [[nodiscard]] bool is_mine(TagId tag) const noexcept {
    while (tag != kNoTag && tag != tag_.id) tag = process_tags.parent(tag);
    return tag == tag_.id && tag != kNoTag;
  }

  [[nodiscard]] std::string describe(const std::vector<StackId>& grown, std::uint32_t calls,
                                     std::uintptr_t caller) const {
    const Result<NamedStacks> names = TestTracker::current()->name_stacks(grown);
    if (!names.ok()) return std::string(names.status().message());
    std::string text;
    for (const StackId stack : grown) {
      const std::span<const NamedFrame> frames = shown_frames(names->frames(stack), caller);
      if (TestFramework::frames().allocated(frames)) continue;
      const Live before = live_at(0, stack);
      const Live after = live_at(2, stack);
      text += "  from " + count_text(before.bytes, before.blocks) + " to " +
              count_text(after.bytes, after.blocks) + ", by\n";
      for (const FrameText& frame : copy_frames(frames)) text += "    " + to_text(frame) + "\n";
    }
    if (text.empty()) return text;
    return "expected no growth; in " + std::to_string(calls) + " calls there was\n" + text;
  }

  Status status_;
  std::vector<std::map<StackId, Live>> looks_;
  const Tag tag_ = nested_tag("(watched for growth)");
  const ProcessTag scope_{tag_};
};

}  // namespace alloctap::testing
