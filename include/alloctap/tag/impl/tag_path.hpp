/// Definitions for tag/tag_path.hpp.
#pragma once

#include "alloctap/macros.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/tag/tag_path.hpp"

namespace alloctap {

ALLOCTAP_INLINE Result<Tag> tag_at_path(std::string_view path) {
  const ReentrancyGuard guard;
  Tag tag;
  for (bool more = !path.empty(); more;) {
    const std::size_t slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    if (name.empty()) {
      return Status::invalid_argument("a path of tags has an empty name: write \"Game/Physics\"");
    }
    if (name.size() > TagTable::kLongestName) {
      return Status::invalid_argument("the name of a tag has ", name.size(), " bytes; at most ",
                                      TagTable::kLongestName, " are kept");
    }
    const TagId inner = process_tags.find_or_add(tag.id, name);
    if (inner == tag.id) {
      return Status::resource_exhausted("there is no room for another tag; at most ",
                                        TagTable::kMaxTags);
    }
    tag.id = inner;
    more = slash != std::string_view::npos;
    if (more) path.remove_prefix(slash + 1);
  }
  return tag;
}

}  // namespace alloctap
