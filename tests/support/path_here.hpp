/// The paths of tags where a test may be inside of one, under a tracker that tells which test it
/// is.
#pragma once

#include <string>
#include <string_view>

#include "alloctap/snapshot/by_tag.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap::testing {

/// The path of `path` inside of the tag that the calling thread is in; that tag's where it is
/// empty.
[[nodiscard]] inline std::string path_here(std::string_view path) {
  const TagPaths paths(&process_tags);
  std::string whole(paths.of(current_tag().id));
  if (!whole.empty() && !path.empty()) whole += '/';
  return whole += path;
}

}  // namespace alloctap::testing
