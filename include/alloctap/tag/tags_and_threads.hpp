/// A tag policy that distinguishes both tags and threads.
#pragma once

#include "alloctap/tag/scoped_tags.hpp"
#include "alloctap/tag/tag_policy.hpp"
#include "alloctap/tag/thread_owners.hpp"

namespace alloctap {

/// Combines `ScopedTags` and `ThreadOwners`: each pair of tag and thread is an owner.
struct TagsAndThreads {
  static constexpr TagFeatures features{.leaves_errno_alone = true, .offer = true};

  static StackOwner current(const ThreadState& thread) noexcept {
    return {.tag = ScopedTags::current(thread).tag, .thread = ThreadOwners::current(thread).thread};
  }
  static TagsDescription description() noexcept {
    return {.tags = ScopedTags::description().tags, .threads = true};
  }
  static void offer(alloctap_slots& slots) noexcept { ScopedTags::offer(slots); }
};

static_assert(TagPolicy<TagsAndThreads>);

}  // namespace alloctap
