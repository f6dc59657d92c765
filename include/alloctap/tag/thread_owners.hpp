/// A tag policy that attributes memory to the allocating thread.
#pragma once

#include "alloctap/tag/tag_policy.hpp"

namespace alloctap {

/// Makes stacks per-thread, so that a thread's live memory is known whichever thread frees it
/// (`ThreadSummary::live`).
struct ThreadOwners {
  static constexpr bool leaves_errno_alone = true;

  static StackOwner current(const ThreadState& thread) noexcept {
    return {.thread = thread.number};
  }
  static constexpr TagsDescription description() noexcept { return {.threads = true}; }
};

static_assert(TagPolicy<ThreadOwners>);

}  // namespace alloctap
