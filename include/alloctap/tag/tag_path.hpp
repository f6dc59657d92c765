/// Tags by the names that reports give them.
#pragma once

#include <string_view>

#include "alloctap/status.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

/// The tag "Game/Physics", as reports write it: `Physics` inside of `Game`, wherever the calling
/// thread is. Added if need be, so it may come before the first scope. Empty: no tag. Fails where a
/// name is empty or longer than `TagTable::kLongestName` (which a scope would cut), and where there
/// is no room for another tag. A tag whose own name has a slash is to be had of `nested_tag` alone.
/// Not to be used inside a hook.
[[nodiscard]] Result<Tag> tag_at_path(std::string_view path);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/tag/impl/tag_path.hpp"
#endif
