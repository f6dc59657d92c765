/// A tag policy without tags: stacks differ only by their frames.
#pragma once

#include "alloctap/tag/tag_policy.hpp"

namespace alloctap {

/// The default tag policy; compiles to no code.
struct NoTags {
  static constexpr StackOwner current(const ThreadState&) noexcept { return {}; }
  static constexpr TagsDescription description() noexcept { return {}; }
};

static_assert(TagPolicy<NoTags>);

}  // namespace alloctap
