/// Memory by the thread that allocated it.
#pragma once

#include "alloctap/tag/tag_policy.hpp"

namespace alloctap {

/// Makes each stack one of its thread, so that what a thread holds is known, whoever gives it back
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
