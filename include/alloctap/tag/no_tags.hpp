/// No tags: a stack is told from another one by its frames alone.
#pragma once

#include "alloctap/tag/tag_policy.hpp"

namespace alloctap {

/// Costs nothing: not an instruction of it is compiled.
struct NoTags {
  static constexpr StackOwner current(const ThreadState&) noexcept { return {}; }
  static constexpr TagsDescription description() noexcept { return {}; }
};

static_assert(TagPolicy<NoTags>);

}  // namespace alloctap
