/// A tag policy for tag scopes of the program.
#pragma once

#include "alloctap/tag/tag_policy.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

/// Attributes each allocation to the innermost `tag_scope` of its thread.
struct ScopedTags {
  static constexpr TagFeatures features{.leaves_errno_alone = true, .offer = true};

  static StackOwner current(const ThreadState&) noexcept {
    return {.tag = this_thread_tag().load(std::memory_order_relaxed)};
  }
  static TagsDescription description() noexcept { return {.tags = &process_tags}; }
  static void offer(alloctap_slots& slots) noexcept { slots.tags = &alloctap_tags; }
};

static_assert(TagPolicy<ScopedTags>);

}  // namespace alloctap
