/// A tag policy for scopes that the program sets.
#pragma once

#include "alloctap/tag/tag_policy.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

/// Attributes allocations to the thread's innermost `tag_scope`.
struct ScopedTags {
  static constexpr bool leaves_errno_alone = true;

  static StackOwner current(const ThreadState&) noexcept {
    return {.tag = this_thread_tag().load(std::memory_order_relaxed)};
  }
  static TagsDescription description() noexcept { return {.tags = &process_tags}; }
  static void offer(alloctap_slots& slots) noexcept { slots.tags = &alloctap_tags; }
};

static_assert(TagPolicy<ScopedTags>);

}  // namespace alloctap
