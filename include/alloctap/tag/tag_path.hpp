/// Looks up tags by path, as they are named in reports.
#pragma once

#include <string_view>

#include "alloctap/status.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

/// Returns the tag of a path: "Game/Physics" is `Physics` nested in `Game`, whatever scope the
/// calling thread is in. Adds missing tags, so the call may precede the first scope. An empty path
/// means no tag. Fails if a name is empty or longer than `TagTable::kLongestName` (scopes cut long
/// names), or if a tag cannot be added. Cannot find tags whose names have a slash (see
/// `nested_tag`). Must not be called inside a hook.
[[nodiscard]] Result<Tag> tag_at_path(std::string_view path);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/tag/impl/tag_path.hpp"
#endif
