/// A tag policy that attributes memory to the allocating thread.
#pragma once

#include "alloctap/tag/tag_policy.hpp"

namespace alloctap {

/// Makes the allocating thread the owner of a stack, so that the thread's live memory is known even
/// if other threads free its blocks (`ThreadSummary::live`).
struct ThreadOwners {
  static constexpr TagFeatures features{.leaves_errno_alone = true};

  static StackOwner current(const ThreadState& thread) noexcept {
    return {.thread = thread.number};
  }
  static constexpr TagsDescription description() noexcept { return {.threads = true}; }
};

static_assert(TagPolicy<ThreadOwners>);

}  // namespace alloctap
