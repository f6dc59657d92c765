/// Looks up tags by their paths in reports.
#pragma once

#include <string_view>

#include "alloctap/status.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

/// Returns the tag "Game/Physics": `Physics` inside `Game`, whatever scope the calling thread is
/// in. Adds it if needed, so it may precede the first scope. An empty path is no tag. Fails if a
/// name is empty or longer than `TagTable::kLongestName` (which a scope would cut), or if no tag
/// can be added. A tag whose own name has a slash is reached only by `nested_tag`. Must not be
/// called inside a hook.
[[nodiscard]] Result<Tag> tag_at_path(std::string_view path);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/tag/impl/tag_path.hpp"
#endif
