/// Detection of memory growth over repeated calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/inherited_tags.hpp"
#include "alloctap/testing/allocation_count.hpp"
#include "alloctap/testing/leaked_case.hpp"
#include "alloctap/testing/test_framework.hpp"
#include "alloctap/testing/test_tracker.hpp"

namespace alloctap::testing {

/// Compares the live blocks at three calls of `look`. Covers allocations that this thread, and
/// threads started by this thread, make while the object exists. Control plane; at most one object
/// at a time. The object's own allocations are not recorded.
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

  /// Describes stacks that grew between every two successive calls of `look`, or an error; empty if
  /// none grew. `calls`: number of calls in between. `caller`: see `MeasuredCallable::caller`.
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
